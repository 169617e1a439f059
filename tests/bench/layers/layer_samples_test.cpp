#include "tests/bench/layers/layer_samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "planner/measure/layer_run.hpp"
#include "tests/oracle/oracle.hpp"
#include "tests/support/layout.hpp"

namespace znni::bench {
namespace {

constexpr Shape5 shape{2, 19, {3, 4, 5}};

std::vector<float> planar_input(const Shape5& of) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < elements(of); ++i) {
    const Vec3 n = of.n;
    values.push_back(
        input_value(of, {i / voxels(n) / of.f, i / voxels(n) % of.f, {i / (n.y * n.x) % n.z, i / n.x % n.y, i % n.x}}));
  }
  return values;
}

TEST(BenchLayerSamples, InputsLookLikeNoise) {
  const std::vector<float> values = planar_input({1, 4, Vec3::cube(20)});
  double sum = 0;
  double product = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_GE(values[i], -1);
    EXPECT_LT(values[i], 1);
    sum += values[i];
    product += values[i] * values[(i + 1) % values.size()];
  }
  EXPECT_EQ(std::set<float>(values.begin(), values.end()).size() + 100 > values.size(), true);
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(product / count, 0, 0.02);
}

TEST(BenchLayerSamples, FillsAnyLayoutWithTheSameValuesAndPadsWithZeros) {
  Executor executor(2);
  for (const Layout layout : {Layout::planar, Layout::blocked8, Layout::blocked16}) {
    const Format format{ElementType::f32, layout};
    std::vector<float> block(static_cast<std::size_t>(tensor_bytes(shape, format)) / sizeof(float), std::nanf(""));
    const TensorView view = dense_view(block.data(), shape, format);
    fill_input(view, executor);
    EXPECT_EQ(test::load(view), planar_input(shape)) << to_string(format);
    EXPECT_TRUE(test::padding_is_zero(view)) << to_string(format);
  }
}

TEST(BenchLayerSamples, PlacesHoldTheCornersAndLieInside) {
  const std::vector<Place> places = sample_places(shape, 200);
  ASSERT_EQ(places.size(), 200);
  for (const std::int64_t s : {0, 1}) {
    for (const std::int64_t f : {0, 18}) {
      EXPECT_THAT(places, testing::Contains(Place{s, f, {0, 0, 0}}));
      EXPECT_THAT(places, testing::Contains(Place{s, f, {2, 3, 4}}));
      EXPECT_THAT(places, testing::Contains(Place{s, f, {2, 0, 4}}));
    }
  }
  for (const Place& place : places) {
    EXPECT_TRUE(place.s < 2 && place.f < 19 && covers({2, 3, 4}, place.n));
    EXPECT_TRUE(place.s >= 0 && place.f >= 0 && covers(place.n, {0, 0, 0}));
  }
  EXPECT_EQ(sample_places(shape, 200), places);
  EXPECT_EQ(sample_places({1, 1, Vec3::cube(1)}, 3).size(), 3);
}

TEST(BenchLayerSamples, ExactOutputIsTheOracles) {
  for (const ActivationKind kind : {ActivationKind::none, ActivationKind::relu}) {
    const ConvProblem problem{{2, 3, {6, 7, 8}}, 5, {2, 3, 1}, {1, 2, 1}, {1, 1, 1}, {kind, 0}};
    const LayerParameters parameters = random_parameters(problem);
    const std::vector<oracle::Values> inputs = {oracle::widened(planar_input(problem.in))};
    const oracle::Values all = oracle::oracle_run(problem, inputs, parameters.view());
    const Shape5 out = output_shape(problem);
    for (const Place& p : sample_places(out, 100)) {
      const std::int64_t index = (((p.s * out.f + p.f) * out.n.z + p.n.z) * out.n.y + p.n.y) * out.n.x + p.n.x;
      EXPECT_NEAR(exact_output(problem, parameters.view(), p), all[static_cast<std::size_t>(index)], 1e-12);
    }
  }
}

TEST(BenchLayerSamples, ErrorIsTheLargestOverTheRootMeanSquare) {
  const std::vector<double> exact = {3, -4, 0, 5};  // mean square 12.5
  EXPECT_DOUBLE_EQ(relative_error(std::vector<float>{3, -4, 0.5F, 5.25F}, exact), 0.5 / std::sqrt(12.5));
  EXPECT_EQ(relative_error(std::vector<float>{3, -4, 0, 5}, exact), 0);
  EXPECT_EQ(relative_error(std::vector<float>{0}, std::vector<double>{0}), 0);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isinf(relative_error(std::vector<float>{3, std::nanf(""), 0, 5}, exact)));
  EXPECT_TRUE(std::isinf(relative_error(std::vector<float>{3, -4, infinity, 5}, exact)));
}

}  // namespace
}  // namespace znni::bench
