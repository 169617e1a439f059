#include "tests/bench/layers/layer_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace znni::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

PrimitiveTimes times_of(const std::string& name, std::vector<RunTime> runs) {
  PrimitiveTimes times;
  times.primitive = name;
  times.variant = {{"tile", 24}};
  times.in = times.out = {ElementType::f32, Layout::blocked16};
  times.tried = 4;
  times.runs = std::move(runs);
  times.persistent_bytes = 3 << 20;
  times.transient_bytes = 5 << 20;
  times.error = 2.5e-6;
  return times;
}

LayerReport layer_example() {
  LayerReport report;
  report.problem = {{1, 10, Vec3::cube(102)}, 10, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1), {}};  // 5.4e9 operations
  report.device = "a machine";
  report.threads = 2;
  report.machine = {4e11, 2.5e10, 1.5};
  report.primitives = {times_of("fast", {{0.5, 0.25, 3.0}, {9, 8, 4.0}, {0.1, 0.1, 2.0}}),
                       times_of("slow", {{1, 0.75}})};
  return report;
}

TEST(BenchLayerReport, TextHasMediansAndTheMachine) {
  const std::string text = layer_text(layer_example());
  for (const char* part : {"conv 1x10x102x102x102 -> 10, k 3x3x3", "a machine, load 1.50", "400 GFLOP/s", "25.0 GB/s",
                           "all threads", "500.00", "250.00", "11", "2.00", "1000.00", "1.00", "3.00 MiB", "5.00 MiB",
                           "2.5e-06", "tile=24", "speed: over slow"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(BenchLayerReport, JsonHasTheSameNumbers) {
  const auto json = nlohmann::json::parse(layer_json(layer_example()));
  EXPECT_EQ(json["f"], 10);
  EXPECT_EQ(json["k"], nlohmann::json({3, 3, 3}));
  EXPECT_EQ(json["n"], nlohmann::json({102, 102, 102}));
  EXPECT_EQ(json["S"], 1);
  EXPECT_EQ(json["threads"], 2);
  EXPECT_EQ(json["flops_per_second"], 4e11);
  EXPECT_EQ(json["load"], 1.5);
  const auto& fast = json["primitives"][0];
  EXPECT_EQ(fast["primitive"], "fast");
  EXPECT_EQ(fast["seconds"], 0.5);
  EXPECT_EQ(fast["processor_seconds_per_thread"], 0.25);
  EXPECT_EQ(fast["joules"], 3.0);
  EXPECT_TRUE(json["primitives"][1]["joules"].is_null());
  EXPECT_DOUBLE_EQ(fast["effective_flops_per_second"], 2 * 100 * 27 * 1e6 / 0.5);
  EXPECT_EQ(fast["speed_over_last"], 2);
  EXPECT_EQ(fast["runs"], nlohmann::json({0.5, 9, 0.1}));
  EXPECT_EQ(json["primitives"][1]["speed_over_last"], 1);
}

TEST(BenchLayerReport, APrimitiveThatDidNotRunHasItsReasonAlone) {
  LayerReport report = layer_example();
  report.primitives[1] = {};
  report.primitives[1].primitive = "slow";
  report.primitives[1].refusal = "needs 9.00 GiB";
  EXPECT_THAT(layer_text(report), HasSubstr("slow did not run: needs 9.00 GiB"));
  EXPECT_THAT(layer_text(report), Not(HasSubstr("2.00")));
  const auto json = nlohmann::json::parse(layer_json(report));
  EXPECT_TRUE(json["primitives"][0]["speed_over_last"].is_null());
  EXPECT_EQ(json["primitives"][1], nlohmann::json({{"primitive", "slow"}, {"refusal", "needs 9.00 GiB"}}));
}

}  // namespace
}  // namespace znni::bench
