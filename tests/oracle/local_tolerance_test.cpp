#include "tests/oracle/local_tolerance.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace znni::oracle {
namespace {

TEST(LocalTolerance, LargestOfChannelsTakesAbsoluteValuesOfEachInput) {
  const Shape5 shape{2, 2, {1, 1, 2}};
  EXPECT_EQ(largest_of_channels(shape, {1, -5, -2, 3, 0, 7, 8, -9}), (Values{2, 5, 8, 9}));
}

TEST(LocalTolerance, LargestAroundEndsWithTheVoxels) {
  const Values values = {5, 0, 0, 1, 0, 9};
  EXPECT_EQ(largest_around(values, {1, 1, 6}, {}, {0, 0, 1}, {1, 1, 5}), (Values{5, 0, 1, 1, 9}));
  EXPECT_EQ(largest_around(values, {1, 1, 6}, {0, 0, 1}, {0, 0, 2}, {1, 1, 6}), (Values{5, 5, 1, 9, 9, 9}));
  EXPECT_EQ(largest_around(values, {6, 1, 1}, {2, 0, 0}, {}, {4, 1, 1}), (Values{5, 5, 5, 1}));
  EXPECT_EQ(largest_around(values, {1, 2, 3}, {}, {0, 1, 0}, {1, 1, 3}), (Values{5, 0, 9}));
}

// One huge voxel widens the tolerance only of voxels that read it or to which it spreads.
TEST(LocalTolerance, OfAConvolutionFollowsWhatIsWithinReach) {
  const ConvProblem conv{{1, 1, {1, 1, 20}}, 1, {1, 1, 3}, {1, 1, 1}, {1, 1, 1}, {}};
  const std::vector<float> kernels = {1, 1, 1};
  const LayerWeights weights{kernels, {}, {}, {}};
  std::vector<Values> inputs = {Values(20, 1.0)};
  const double plain = tolerance(conv, inputs, weights);
  inputs[0][10] = 1e9;
  for (const std::int64_t spread : {0, 4}) {
    const Values allowed = local_tolerance(conv, inputs, weights, {0, 0, spread});
    ASSERT_EQ(allowed.size(), 18U);
    for (std::int64_t v = 0; v < 18; ++v) {
      const bool reached = v >= 8 - spread && v <= 10 + spread;
      EXPECT_DOUBLE_EQ(allowed[static_cast<std::size_t>(v)], (reached ? 1e9 : 1.0) * plain) << v;
    }
  }
}

TEST(LocalTolerance, OfALinearUpsamplingFollowsVoxelsBesideIt) {
  const UpsampleProblem problem{{1, 1, {1, 1, 9}}, {1, 1, 2}, UpsampleKind::linear};
  std::vector<Values> inputs = {Values(9, 1.0)};
  const double plain = tolerance(problem, inputs, {});
  EXPECT_GT(plain, 0);
  inputs[0][4] = 1e9;
  const Values allowed = local_tolerance(problem, inputs, {}, {});
  ASSERT_EQ(allowed.size(), 14U);
  for (std::size_t v = 0; v < 14; ++v) EXPECT_DOUBLE_EQ(allowed[v], (v >= 4 && v <= 9 ? 1e9 : 1.0) * plain) << v;
}

TEST(LocalTolerance, OfAlignedCornersFollowsVoxelsBesideIt) {
  const UpsampleProblem problem{{1, 1, {1, 1, 9}}, {1, 1, 2}, UpsampleKind::aligned};
  std::vector<Values> inputs = {Values(9, 1.0)};
  const double plain = tolerance(problem, inputs, {});
  inputs[0][4] = 1e9;
  const Values allowed = local_tolerance(problem, inputs, {}, {});
  ASSERT_EQ(allowed.size(), 18U);
  for (std::size_t v = 0; v < 18; ++v) EXPECT_DOUBLE_EQ(allowed[v], (v >= 6 && v <= 11 ? 1e9 : 1.0) * plain) << v;
}

// If all values are equally large, every voxel has the tolerance of the whole.
TEST(LocalTolerance, OfEvenValuesIsTheToleranceOfAll) {
  const Shape5 in{2, 3, {4, 5, 5}};
  const std::vector<Values> inputs = {Values(static_cast<std::size_t>(elements(in)), -2.0)};
  const PoolProblem pool{.in = in, .kind = PoolKind::average, .mode = PoolMode::plain};
  const std::vector<float> kernels(static_cast<std::size_t>(2 * 3 * 8), 0.5F);
  ConvPoolProblem both;
  both.conv = {in, 2, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {}};
  both.pool = {.in = output_shape(both.conv), .window = {1, 2, 2}, .stride = {1, 2, 2}};
  for (const LayerProblem& problem :
       {LayerProblem(pool), LayerProblem(both), LayerProblem(AcrossChannelsProblem{in})}) {
    const LayerWeights weights{kernels, {}, {}, {}};
    const Values allowed = local_tolerance(problem, inputs, weights, {});
    EXPECT_EQ(allowed.size(), static_cast<std::size_t>(output_shape(problem).S * voxels(output_shape(problem).n)));
    for (const double one : allowed) EXPECT_DOUBLE_EQ(one, tolerance(problem, inputs, weights)) << to_string(problem);
  }
}

}  // namespace
}  // namespace znni::oracle
