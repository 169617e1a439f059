#include "planner/measure/layer_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/planner/plain_device.hpp"

namespace znni {
namespace {

const LayerProblem conv = ConvProblem{{1, 3, {5, 6, 7}}, 4, {2, 2, 3}, Vec3::cube(1), Vec3::cube(1), {}};

TEST(PlannerLayerRun, ParametersHaveTheProblemsSizes) {
  const LayerParameters of_conv = random_parameters(conv);
  EXPECT_EQ(of_conv.kernels.size(), 4U * 3U * 12U);
  EXPECT_EQ(of_conv.bias.size(), 4U);
  EXPECT_TRUE(of_conv.scale.empty());
  const LayerParameters of_affine = random_parameters(ScaleShiftProblem{{1, 3, Vec3::cube(4)}});
  EXPECT_EQ(of_affine.scale.size(), 3U);
  EXPECT_EQ(of_affine.shift.size(), 3U);
  const LayerParameters of_norm = random_parameters(NormProblem{{1, 6, Vec3::cube(4)}, 2});
  EXPECT_EQ(of_norm.scale.size(), 6U);
  EXPECT_EQ(of_norm.shift.size(), 6U);
  EXPECT_TRUE(random_parameters(AcrossChannelsProblem{{1, 3, Vec3::cube(4)}}).kernels.empty());
  EXPECT_EQ(random_parameters(conv).kernels, of_conv.kernels);
}

TEST(PlannerLayerRun, RunsAgainAndAgainOnTheSameInput) {
  plain::PlainDevice device({}, 1 << 20);
  const Estimate estimate = plain::mean_estimate(conv, 1, 1e-3);
  const LayerParameters parameters = random_parameters(conv);
  {
    Result<Reservation> block = device.reserve(MemorySpace::host, pack(estimate.memory).bytes, "block");
    ASSERT_TRUE(block);
    const Result<std::unique_ptr<LayerRun>> run =
        LayerRun::make(conv, plain::mean, estimate, parameters, *block, device);
    ASSERT_TRUE(run) << run.error().message;
    std::vector<std::byte> before;
    for (int i = 0; i < 3; ++i) {
      const Result<Seconds> seconds = (*run)->run();
      ASSERT_TRUE(seconds);
      EXPECT_GT(*seconds, 0);
      const std::vector<std::byte> now(block->data(), block->data() + block->bytes());
      if (i > 0) {
        EXPECT_EQ(now, before);
      }
      before = now;
    }
    EXPECT_GE(device.reserved(MemorySpace::host), pack(estimate.memory).bytes + 400);
  }
  EXPECT_EQ(device.reserved(MemorySpace::host), 0);
}

TEST(PlannerLayerRun, TakesInputsOfTheCallersOwn) {
  plain::PlainDevice device({}, 1 << 20);
  const Estimate estimate = plain::mean_estimate(conv, 1, 1e-3);
  const LayerParameters parameters = random_parameters(conv);
  Result<Reservation> block = device.reserve(MemorySpace::host, pack(estimate.memory).bytes, "block");
  ASSERT_TRUE(block);
  const Result<std::unique_ptr<LayerRun>> run = LayerRun::make(conv, plain::mean, estimate, parameters, *block, device);
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ((*run)->inputs().size(), 1U);
  std::vector<float> first_values;
  for (const float value : {1.0F, 3.0F}) {
    const TensorView& input = (*run)->inputs()[0];
    std::fill_n(input.data, elements(input.shape), value);
    ASSERT_TRUE((*run)->run_filled());
    EXPECT_EQ((*run)->output().shape, output_shape(conv));
    first_values.push_back((*run)->output().data[0]);
  }
  EXPECT_NE(first_values[0], first_values[1]);
}

TEST(PlannerLayerRun, SaysWhenThePersistentCopyDoesNotFit) {
  const Estimate estimate = plain::mean_estimate(conv, 1, 1e-3);
  const std::int64_t bytes = pack(estimate.memory).bytes;
  plain::PlainDevice device({}, bytes + 399);
  const LayerParameters parameters = random_parameters(conv);
  Result<Reservation> block = device.reserve(MemorySpace::host, bytes, "block");
  ASSERT_TRUE(block);
  const Result<std::unique_ptr<LayerRun>> run = LayerRun::make(conv, plain::mean, estimate, parameters, *block, device);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, ErrorCode::over_budget);
}

TEST(PlannerLayerRun, PassesOnWhatTheLayerSays) {
  plain::PlainDevice device({}, 1 << 20);
  const Estimate estimate = plain::mean_estimate(conv, 3, 1e-3);
  const LayerParameters parameters = random_parameters(conv);
  Result<Reservation> block = device.reserve(MemorySpace::host, pack(estimate.memory).bytes, "block");
  ASSERT_TRUE(block);
  const Result<std::unique_ptr<LayerRun>> run = LayerRun::make(conv, plain::mean, estimate, parameters, *block, device);
  ASSERT_TRUE(run);
  const Result<Seconds> seconds = (*run)->run();
  ASSERT_FALSE(seconds);
  EXPECT_EQ(seconds.error().message, "refuses to run");
}

}  // namespace
}  // namespace znni
