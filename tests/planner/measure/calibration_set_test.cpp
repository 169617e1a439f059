#include "planner/measure/calibration_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "planner/costs/problem_family.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

std::vector<CalibrationTask> tasks(int threads) {
  DeviceSpec spec;
  spec.threads = threads;
  const Catalogue catalogue = drawn::catalogue();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  return calibration_set(catalogue, spec, *costs);
}

TEST(PlannerCalibrationSet, IsSoundAndNamesEveryWay) {
  for (const CalibrationTask& task : tasks(2)) {
    EXPECT_TRUE(check(task.problem)) << to_string(task.problem);
    ASSERT_FALSE(task.ways.empty());
    for (const Way& way : task.ways) EXPECT_GT(way.expected, 0);
  }
}

template <int times>
Result<std::vector<Estimate>> describe_slowly(const LayerProblem& problem, const DeviceSpec& spec) {
  Result<std::vector<Estimate>> estimates = drawn::describe_conv(problem, spec);
  if (estimates) {
    for (Estimate& estimate : *estimates) estimate.time *= times;
  }
  return estimates;
}

// Slow ones have only their best way timed, and those that take a hundred times as long none.
TEST(PlannerCalibrationSet, EveryPrimitiveThatMayBeChosenIsTimed) {
  Primitive slow = drawn::conv;
  slow.name = "drawn.conv.slow";
  slow.describe = &describe_slowly<9>;
  Primitive hopeless = drawn::conv;
  hopeless.name = "drawn.conv.hopeless";
  hopeless.describe = &describe_slowly<100>;
  std::vector<const Primitive*> primitives(drawn::all.begin(), drawn::all.end());
  primitives.insert(primitives.end(), {&slow, &hopeless});
  const Backend backend{"drawn", drawn::probe, drawn::open, primitives};
  const std::array<const Backend*, 1> backends = {&backend};
  const Catalogue catalogue = Catalogue::make(backends).value();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  for (const CalibrationTask& task : calibration_set(catalogue, {}, *costs)) {
    if (!std::holds_alternative<ConvProblem>(task.problem)) continue;
    const auto of_slow = [&](const Way& way) { return way.primitive == &slow; };
    EXPECT_EQ(std::count_if(task.ways.begin(), task.ways.end(), of_slow), 1);
    const auto of_hopeless = [&](const Way& way) { return way.primitive == &hopeless; };
    EXPECT_EQ(std::count_if(task.ways.begin(), task.ways.end(), of_hopeless), 0);
  }
}

TEST(PlannerCalibrationSet, EveryFamilyComesInTwoSizes) {
  std::map<std::string, int> families;
  std::set<std::string> texts;
  for (const CalibrationTask& task : tasks(2)) {
    ++families[problem_family(to_string(task.problem))];
    EXPECT_TRUE(texts.insert(to_string(task.problem)).second) << to_string(task.problem);
  }
  EXPECT_GE(families.size(), 25U);
  for (const auto& [family, count] : families) EXPECT_EQ(count, 2) << family;
}

TEST(PlannerCalibrationSet, HasUpsamplingOfEveryKind) {
  std::set<UpsampleKind> kinds;
  for (const CalibrationTask& task : tasks(2)) {
    if (const auto* upsample = std::get_if<UpsampleProblem>(&task.problem)) kinds.insert(upsample->kind);
  }
  EXPECT_EQ(kinds, (std::set<UpsampleKind>{UpsampleKind::nearest, UpsampleKind::shuffle, UpsampleKind::linear,
                                           UpsampleKind::aligned}));
}

TEST(PlannerCalibrationSet, LargeInnerLayersAreFragments) {
  std::set<std::int64_t> inputs;
  for (const CalibrationTask& task : tasks(2)) {
    const auto* conv = std::get_if<ConvProblem>(&task.problem);
    if (conv != nullptr && conv->in.f > 1) inputs.insert(conv->in.S);
  }
  EXPECT_EQ(inputs, (std::set<std::int64_t>{1, 4}));
}

TEST(PlannerCalibrationSet, MoreThreadsGetMoreWork) {
  double two = 0;
  double eight = 0;
  for (const CalibrationTask& task : tasks(2)) two += direct_flops(task.problem);
  for (const CalibrationTask& task : tasks(8)) eight += direct_flops(task.problem);
  EXPECT_GT(eight, 3 * two);
}

}  // namespace
}  // namespace znni
