#include "primitives/cpu/conv/conv_direct_model.hpp"

#include <gtest/gtest.h>

#include "primitives/cpu/backend.hpp"

namespace znni::cpu {
namespace {

TEST(ConvDirectModel, CountsArithmeticAndWhatComesBehindIt) {
  const DeviceSpec spec = describe_cpu(2);
  const ConvProblem conv{.in = {1, 8, {8, 8, 34}}, .f_out = 8, .k = Vec3::cube(3), .activation = {}};
  const double plain = direct_row_flops(conv, spec);
  EXPECT_GT(plain, direct_flops(conv));
  ConvProblem more = conv;
  more.residual = true;
  more.activation = {ActivationKind::tanh};
  EXPECT_GT(direct_row_flops(more, spec), plain);
  more = conv;
  more.f_out *= 4;
  EXPECT_NEAR(direct_row_flops(more, spec) / plain, 4.0, 1e-9);
}

}  // namespace
}  // namespace znni::cpu
