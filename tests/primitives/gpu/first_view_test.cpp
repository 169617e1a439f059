// The first layer's kernel on the host, thread by thread, against the oracle.
#include "primitives/gpu/first_view.hpp"

#include <gtest/gtest.h>

#include "primitives/gpu/estimates.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/primitives/gpu/host_math.hpp"
#include "tests/primitives/gpu/host_tensors.hpp"
#include "tests/support/harness.hpp"
#include "tests/support/random.hpp"

namespace znni::cuda {
namespace {

template <class T>
void run_rows(const ConvProblem& conv, const TensorView& in, const std::vector<float>& weights,
              const std::vector<float>& bias, const TensorView& out) {
  const FirstArg arg = first_arg(conv, in, out);
  for (Index index = 0; index < row_count(arg.rows); ++index) {
    for (int element = 0; element < arg.rows.fast; ++element) {
      first_element<HostMath>(arg, row_at(arg.rows, index), element, in.data,
                              reinterpret_cast<const Lanes<float, 4>*>(weights.data()), bias.data(),
                              reinterpret_cast<T*>(out.data));
    }
  }
}

void check_first_convolution(const ConvProblem& conv, Format format, bool window, std::uint64_t seed) {
  SCOPED_TRACE(to_string(LayerProblem(conv)) + " to " + to_string(format) + (window ? ", windows" : ", dense"));
  test::Random random(seed);
  const test::Weights weights = test::random_weights(conv, random);
  const std::vector<std::vector<float>> values = test::random_inputs(conv, random);
  HostTensor in(conv.in, planar_f32, window, seed);
  HostTensor out(output_shape(conv), format, window, seed + 1);
  in.store(values[0]);
  out.store(std::vector<float>(static_cast<std::size_t>(elements(output_shape(conv))), 1e9F));
  // Aligned as device memory is: whole vectors from the first element.
  const std::vector<float> arranged = first_weights(conv, weights.kernels);
  std::vector<float> bias = weights.bias;
  bias.resize(static_cast<std::size_t>(first_padded(conv.f_out)));
  if (format.type == ElementType::f32) run_rows<float>(conv, in.view(), arranged, bias, out.view());
  if (format.type == ElementType::bf16) run_rows<Bfloat>(conv, in.view(), arranged, bias, out.view());
  const std::vector<oracle::Values> exact = {oracle::widened(values[0])};
  const oracle::Values expected = oracle::oracle_run(conv, exact, weights.view());
  double tolerance = oracle::tolerance(conv, exact, weights.view());
  if (format.type == ElementType::bf16) {
    for (const double value : expected) tolerance = std::max(tolerance, std::abs(value) * 0x1p-8);
  }
  test::expect_close(out.load(), expected, tolerance, "first layer");
}

TEST(FirstView, RandomConvolutionsOfFewChannelsEqualTheOracle) {
  for (int i = 0; i < test::case_count(30); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    ConvProblem conv = test::random_conv(random, 1e6);
    conv.in.f = std::min<std::int64_t>(conv.in.f, 3);
    conv.residual = false;
    for (const Format format : {planar_f32, last_f32, last_bf16}) {
      check_first_convolution(conv, format, random.chance(0.5), seed);
    }
  }
}

TEST(FirstView, LongRowsAreCoveredByPairsOfVoxels) {
  for (const std::int64_t n : {1, 31, 32, 33, 64, 65, 96, 130}) {
    check_first_convolution(
        {{1, 1, {2, 2, n + 1}}, 17, {2, 1, 2}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::relu, 0.0F}, false}, last_bf16,
        true, static_cast<std::uint64_t>(n));
  }
  EXPECT_EQ(first_row_elements(1), 32);
  EXPECT_EQ(first_row_elements(64), 32);
  EXPECT_EQ(first_row_elements(65), 64);
}

TEST(FirstView, WeightsArePaddedWithZeros) {
  const ConvProblem conv{{1, 1, {3, 3, 3}}, 3, {1, 1, 2}, {1, 1, 1}, {1, 1, 1}, {}, false};
  const std::vector<float> weights = first_weights(conv, std::vector<float>{1, 2, 3, 4, 5, 6});
  ASSERT_EQ(weights.size(), 32U);
  EXPECT_EQ(weights[0], 1.0F);
  EXPECT_EQ(weights[2], 5.0F);
  EXPECT_EQ(weights[3], 0.0F);
  EXPECT_EQ(weights[16 + 1], 4.0F);
}

}  // namespace
}  // namespace znni::cuda
