#include "planner/split_plan.hpp"

#include <gtest/gtest.h>

#include "planner/recorded_primitives.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

constexpr std::int64_t gibibyte = std::int64_t{1} << 30;

Machine machine() {
  MachineDevice cpu;
  cpu.spec.name = "cores";
  cpu.spec.threads = 8;
  cpu.bytes[0] = gibibyte;
  MachineDevice gpu;
  gpu.spec.name = "card";
  gpu.spec.kind = DeviceKind::gpu;
  gpu.bytes[1] = gibibyte;
  gpu.bytes[2] = gibibyte;
  return {
      "box",
      {cpu, gpu},
      {{MemorySpace::pinned, MemorySpace::device, 1e10, 1e-6}, {MemorySpace::device, MemorySpace::pinned, 1e10, 1e-6}}};
}

// Every node of the chain in several sizes; the card is ten times as fast.
Timings rows(const Network& network) {
  Timings all;
  const std::vector<PoolingMode> modes(pooling_nodes(network).size(), PoolMode::fragments);
  const std::vector<std::int64_t> edges = legal_extents(network, modes, 2, 40);
  for (const std::int64_t edge : edges) {
    const Result<Geometry> geometry = make_geometry(network, {Vec3::cube(edge), 1, modes});
    if (!geometry) continue;
    for (const LayerProblem& problem : geometry->problems) {
      TimingRecord record;
      record.version = 1;
      record.problem = to_string(problem);
      for (const bool card : {false, true}) {
        record.primitive = card ? "card.any" : "cores.any";
        record.device = card ? "card" : "cores";
        record.threads = card ? 1 : 8;
        record.samples = {1e-6 + direct_flops(problem) * (card ? 1e-11 : 1e-10)};
        all.insert(record);
      }
    }
  }
  return all;
}

class PlannerSplitPlan : public testing::Test {
 protected:
  PlannerSplitPlan() {
    recorded_ = RecordedPrimitives::make(rows(network_), machine(), {}).value();
    const std::array<const Backend*, 1> backends = {&recorded_.backend()};
    catalogue_ = Catalogue::make(backends).value();
    options_.memory_limit = gibibyte;
    options_.most_extent = 40;
  }
  Result<SplitPlan> plan(SplitStrategy strategy, std::int64_t device = gibibyte) {
    MachinePlaces places = places_of(machine()).value();
    places.memory.device = device;
    const std::unique_ptr<CostSource> costs = recorded_.costs(modelled_costs());
    return plan_split(network_, catalogue_, *costs, places, strategy, options_, 4);
  }

  Network network_ = drawn::chain(3);
  RecordedPrimitives recorded_;
  Catalogue catalogue_;
  SearchOptions options_;
};

TEST_F(PlannerSplitPlan, MoreFreedomIsNeverSlower) {
  double before = 0;
  for (const SplitStrategy strategy : {SplitStrategy::gpu, SplitStrategy::gpu_host_ram, SplitStrategy::cpu_gpu}) {
    const Result<SplitPlan> made = plan(strategy);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_GE(made->plan.predicted.voxels_per_second, before);
    EXPECT_EQ(made->plan.key.strategy, to_string(strategy));
    EXPECT_EQ(made->plan.key.nodes, describe(network_));
    before = made->plan.predicted.voxels_per_second;
  }
  EXPECT_GT(before, 0);
}

TEST_F(PlannerSplitPlan, TheGpuAloneHasOneSegment) {
  const Result<SplitPlan> made = plan(SplitStrategy::gpu);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->plan.ladder.front().segments.size(), 1U);
  EXPECT_EQ(made->plan.ladder.front().segments.front().place, Place::gpu);
  EXPECT_EQ(made->theta, 0);
  EXPECT_EQ(made->plan.predicted.basis, Basis::recorded);
  const std::string text = split_summary(*made);
  EXPECT_NE(text.find("nodes 0 to 2 on gpu"), std::string::npos) << text;
  EXPECT_NE(text.find("device "), std::string::npos) << text;
}

TEST_F(PlannerSplitPlan, LimitsHoldAndLessIsNeverFaster) {
  double before = 1e300;
  for (std::int64_t device = gibibyte; device > 1 << 12; device /= 8) {
    const Result<SplitPlan> made = plan(SplitStrategy::cpu_gpu, device);
    if (!made) break;
    EXPECT_LE(made->bytes.device, device);
    EXPECT_LE(made->plan.memory.total(), options_.memory_limit);
    EXPECT_LE(made->plan.predicted.voxels_per_second, before);
    before = made->plan.predicted.voxels_per_second;
  }
  EXPECT_LT(before, 1e300);
}

TEST_F(PlannerSplitPlan, SaysWhyNothingFits) {
  const Result<SplitPlan> refused = plan(SplitStrategy::gpu, 100);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::over_budget);
  EXPECT_NE(refused.error().message.find("strategy gpu"), std::string::npos);
}

}  // namespace
}  // namespace znni
