#include "tests/bench/steps/step_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace znni::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

CallTimes call(int part, const std::string& name, Seconds predicted, std::vector<RunTime> runs) {
  CallTimes one;
  one.part = part;
  one.is_planned = true;
  one.predicted = predicted;
  one.times.primitive = name;
  one.times.variant = {{"tile", 24}};
  one.times.in = one.times.out = {ElementType::f32, Layout::blocked16};
  one.times.tried = 1;
  one.times.runs = std::move(runs);
  one.times.persistent_bytes = 3 << 20;
  one.times.transient_bytes = 5 << 20;
  one.times.error = 2.5e-6;
  return one;
}

StepReport step_example() {
  StepReport report;
  report.problem = {{1, 10, Vec3::cube(102)}, 10, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1), {}};  // 5.4e9 operations
  report.device = "a machine";
  report.threads = 2;
  report.machine = {4e11, 2.5e10, 1.5};
  report.memory = std::int64_t{4} << 30;
  report.calls = {call(0, "layer", 0.5, {{1, 0.5}, {2, 1}, {1.5, 0.75}}),
                  call(1, "cpu.reorder", 0.125, {{0.25, 0.125}, {0.25, 0.125}, {0.5, 0.5}}),
                  call(1, "weights", 0.25, {{4, 2}, {2, 1}, {3, 1.5}}), call(2, "input", 1, {{1, 1}, {1, 1}, {1, 1}})};
  return report;
}

TEST(BenchStepReport, TextHasEachPartAndTheSum) {
  const std::string text = step_text(step_example());
  for (const char* part :
       {"conv 1x10x102x102x102 -> 10, k 3x3x3", "a machine, load 1.50", "within 4.00 GiB", "gradient of the weights",
        "gradient of the input", "cpu.reorder", "1875.00", "5250.00", "6000.00", "2.5e-06", "tile=24", "5.00 MiB"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("Other primitives")));
}

TEST(BenchStepReport, JsonHasTheSameNumbers) {
  const auto json = nlohmann::json::parse(step_json(step_example()));
  EXPECT_EQ(json["f"], 10);
  EXPECT_EQ(json["k"], nlohmann::json({3, 3, 3}));
  EXPECT_EQ(json["threads"], 2);
  EXPECT_EQ(json["load"], 1.5);
  EXPECT_EQ(json["mem"], std::int64_t{4} << 30);
  EXPECT_EQ(json["predicted_seconds"], 1.875);
  EXPECT_EQ(json["runs"], nlohmann::json({6.25, 5.25, 6.0}));
  EXPECT_EQ(json["seconds"], 6.0);
  EXPECT_EQ(json["best_seconds"], 5.25);
  EXPECT_EQ(json["processor_runs"], nlohmann::json({3.625, 3.125, 3.75}));
  EXPECT_EQ(json["processor_seconds_per_thread"], 3.625);
  EXPECT_EQ(json["best_processor_seconds_per_thread"], 3.125);
  ASSERT_EQ(json["calls"].size(), 4);
  const auto& weights = json["calls"][2];
  EXPECT_EQ(weights["part"], "gradient of the weights");
  EXPECT_EQ(weights["primitive"], "weights");
  EXPECT_EQ(weights["predicted_seconds"], 0.25);
  EXPECT_EQ(weights["seconds"], 3);
  EXPECT_EQ(weights["best_seconds"], 2);
  EXPECT_DOUBLE_EQ(weights["effective_flops_per_second"], 2 * 100 * 27 * 1e6 / 3);
  EXPECT_TRUE(json["calls"][1]["effective_flops_per_second"].is_null());
  EXPECT_EQ(json["others"], nlohmann::json::array());
}

TEST(BenchStepReport, OthersAreNoPartOfTheSum) {
  StepReport report = step_example();
  CallTimes other = call(0, "slow", 9, {{100, 100}, {100, 100}, {100, 100}});
  other.is_planned = false;
  report.calls.push_back(other);
  CallTimes refused;
  refused.part = 2;
  refused.times.primitive = "large";
  refused.times.refusal = "needs 9.00 GiB";
  report.calls.push_back(refused);
  const auto json = nlohmann::json::parse(step_json(report));
  EXPECT_EQ(json["seconds"], 6.0);
  EXPECT_EQ(json["predicted_seconds"], 1.875);
  EXPECT_EQ(json["calls"].size(), 4);
  ASSERT_EQ(json["others"].size(), 2);
  EXPECT_EQ(json["others"][0]["seconds"], 100);
  EXPECT_EQ(json["others"][1],
            nlohmann::json({{"part", "gradient of the input"}, {"primitive", "large"}, {"refusal", "needs 9.00 GiB"}}));
  const std::string text = step_text(report);
  EXPECT_THAT(text, HasSubstr("Other primitives, each in its fastest way:\n"));
  EXPECT_THAT(text, HasSubstr("gradient of the input: large did not run: needs 9.00 GiB"));
}

}  // namespace
}  // namespace znni::bench
