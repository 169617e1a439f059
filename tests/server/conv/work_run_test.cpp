#include "server/conv/work_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "primitives/core/index.hpp"
#include "tests/planner/train/cpu_parts.hpp"
#include "tests/server/conv/conv_data.hpp"
#include "tests/support/cpu.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

constexpr std::int64_t plenty = std::int64_t{1} << 40;

// Runs a plan with poisoned memory, and checks what it holds.
void run_checked(const WorkPlan& plan, const test::ConvData& data, WorkTensors tensors, Device& device) {
  test::Workspace workspace(plan.packing.bytes);
  tensors.workspace = workspace.span();
  std::vector<std::int64_t> high_water;
  const Result<void> done = run_work(plan, data.view(), tensors, device, true, &high_water);
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_EQ(high_water.size(), plan.calls.size());
  for (std::size_t i = 0; i < high_water.size(); ++i) {
    EXPECT_EQ(high_water[i], peak(plan.calls[i].estimate.memory)) << "memory held is not the memory declared";
  }
  EXPECT_TRUE(workspace.is_kept_around());
}

// Runs all works of a convolution, each within `limit` bytes of workspace, or in any if those do not suffice.
void check_conv(const ConvProblem& conv, std::int64_t limit, std::uint64_t seed, Device& device) {
  test::Random random(seed);
  const test::ConvData data(conv, random);
  test::ConvWritten written(data);
  const StepParts parts = test::cpu_parts(2);
  const auto plan = [&](const WorkProblem& work) {
    Result<WorkPlan> within = plan_work(work, limit, parts);
    return within ? *std::move(within) : plan_work(work, plenty, parts).value();
  };
  const float* const gradient = data.output_gradient.data() + 1;
  run_checked(plan(LayerProblem(conv)), data, {{data.input.data() + 1}, written.output.data() + 1, {}, {}}, device);
  run_checked(plan(GradientProblem{conv, GradientOf::input, 0}), data,
              {{gradient}, written.input_gradient.data() + 1, {}, {}}, device);
  run_checked(plan(GradientProblem{conv, GradientOf::weights, 0}), data,
              {{gradient, data.input.data() + 1}, written.weight_gradient.data() + 1, written.bias_gradient, {}},
              device);
  test::expect_exact(written, data, to_string(LayerProblem(conv)) + ", ZNNI_TEST_SEED=" + std::to_string(seed));
}

TEST(WorkRun, ComputesRandomConvolutionsWithinTheDeclaredMemory) {
  const std::unique_ptr<Device> device = test::open_cpu(2);
  for (int i = 0; i < test::case_count(24); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    test::Random random(seed);
    const ConvProblem conv = test::random_valid_conv(random);
    for (const std::int64_t limit : {plenty, std::int64_t{1} << 18, std::int64_t{0}}) {
      SCOPED_TRACE(to_string(LayerProblem(conv)) + ", limit " + std::to_string(limit));
      check_conv(conv, limit, seed, *device);
    }
  }
}

TEST(WorkRun, AWorkspaceThatIsTooSmallOrNotAlignedIsRefused) {
  const ConvProblem conv{{1, 32, {10, 10, 10}}, 32, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1), {}};
  const WorkPlan plan = plan_work(LayerProblem(conv), plenty, test::cpu_parts(1)).value();
  ASSERT_GT(plan.packing.bytes, 0);
  const std::unique_ptr<Device> device = test::open_cpu(1);
  test::Random random(1);
  const test::ConvData data(conv, random);
  test::ConvWritten written(data);
  test::Workspace workspace(plan.packing.bytes + 64);
  WorkTensors tensors{{data.input.data() + 1}, written.output.data() + 1, {}, workspace.span()};
  tensors.workspace = workspace.span().first(static_cast<std::size_t>(plan.packing.bytes - 1));
  const Result<void> small = run_work(plan, data.view(), tensors, *device);
  ASSERT_FALSE(small);
  EXPECT_THAT(small.error().message, HasSubstr("are needed"));
  tensors.workspace = workspace.span().subspan(4);
  const Result<void> askew = run_work(plan, data.view(), tensors, *device);
  ASSERT_FALSE(askew);
  EXPECT_EQ(askew.error().message, "the workspace does not begin at a multiple of 64 bytes");
}

}  // namespace
}  // namespace znni
