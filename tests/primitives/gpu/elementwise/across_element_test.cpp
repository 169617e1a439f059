// What is made across channels on the host, voxel by voxel as the kernel computes it, against the oracle.
#include "primitives/gpu/elementwise/across_element.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "primitives/gpu/estimates.hpp"
#include "primitives/gpu/views.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/primitives/gpu/host_math.hpp"
#include "tests/primitives/gpu/host_tensors.hpp"
#include "tests/support/harness.hpp"

namespace znni::cuda {
namespace {

void run_across(const AcrossChannelsProblem& problem, const TensorView& in, const TensorView& out) {
  const AcrossArg arg{in.shape.S,
                      in.shape.f,
                      extent_of(in.shape.n),
                      steps_of(in.strides),
                      steps_of(out.strides),
                      static_cast<Across>(problem.kind),
                      problem.epsilon};
  for (Index voxel = 0; voxel < arg.S * voxels_of(arg.n); ++voxel) {
    across_voxel<HostMath>(arg, voxel, static_cast<const float*>(in.data), out.data);
  }
}

void check_across(const AcrossChannelsProblem& problem, Format format, bool window, std::uint64_t seed) {
  SCOPED_TRACE(to_string(LayerProblem(problem)) + " " + to_string(format) + (window ? ", windows" : ", dense"));
  test::Random random(seed);
  HostTensor in(problem.in, format, window, seed);
  HostTensor out(output_shape(problem), format, window, seed + 1);
  in.store(random.normals(elements(problem.in), 4.0F));
  run_across(problem, in.view(), out.view());
  const std::vector<oracle::Values> exact = {oracle::widened(in.load())};
  test::expect_close(out.load(), oracle::oracle_run(problem, exact, {}), oracle::tolerance(problem, exact, {}),
                     to_string(format));
}

TEST(AcrossElement, EveryKindEqualsTheOracle) {
  for (int i = 0; i < test::case_count(40); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    AcrossChannelsProblem problem = test::random_across(random);
    problem.kind = static_cast<AcrossKind>(i % 5);
    for (const Format format : {planar_f32, last_f32}) check_across(problem, format, random.chance(0.5), seed);
  }
}

std::vector<float> made_of(AcrossKind kind, std::vector<float> voxel) {
  const AcrossChannelsProblem problem{{1, static_cast<std::int64_t>(voxel.size()), {1, 1, 1}}, kind};
  std::vector<float> out(static_cast<std::size_t>(output_shape(problem).f));
  run_across(problem, dense_view(voxel.data(), problem.in), dense_view(out.data(), output_shape(problem)));
  return out;
}

TEST(AcrossElement, OfEqualChannelsTheFirstOrTheLastIsTaken) {
  EXPECT_EQ(made_of(AcrossKind::arg_max, {1, 7, 7, 2}), std::vector<float>{1});
  EXPECT_EQ(made_of(AcrossKind::arg_max_last, {1, 7, 7, 2}), std::vector<float>{2});
}

TEST(AcrossElement, ANanReachesAllOfItsVoxel) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  for (int kind = 0; kind < 5; ++kind) {
    for (const std::vector<float>& voxel : {std::vector<float>{nan, 1, 2}, {1, nan, 2}, {1, 2, nan}}) {
      for (const float value : made_of(static_cast<AcrossKind>(kind), voxel)) EXPECT_TRUE(std::isnan(value)) << kind;
    }
  }
}

}  // namespace
}  // namespace znni::cuda
