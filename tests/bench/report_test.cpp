#include "tests/bench/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace znni::bench {
namespace {

using testing::HasSubstr;

NetTimes example() {
  NetTimes times;
  times.network = "n1";
  times.seeded_weights = true;
  times.patch = {50, 60, 70};
  times.S = 2;
  times.passes = 8;
  times.steps = 3;
  times.voxels = 1e6;
  times.memory = {1 << 20, 1 << 20, 1 << 20};
  times.predicted = 0.5;
  times.touched = 0.25;
  times.cold = 1.0;
  times.warm = {0.5, 0.625};
  times.processor = {0.75, 1.25};
  times.planned = {3e6, 4.5, 1, Basis::model, 0.125};
  times.nodes = {{-1, "input", "", "cpu.reorder", Basis::model, 0.1, 0, 0.05},
                 {0, "conv1", "conv 1x1x8x8x8 -> 2, k 2x2x2", "cpu.conv.direct", Basis::measured, 0.4, 0.25, 0.44}};
  times.rest = 0.01;
  return times;
}

TEST(BenchReport, TextHasEveryRunAndEveryNode) {
  const std::string text = net_text(example());
  for (const char* part :
       {"n1, seeded random weights", "50x60x70, S 2, 8 passes, a step of a stream, mean of 3", "3.00 MiB, touched in",
        "cold", "1.0000", "2.000", "warm 2", "0.6250", "1.250", "1,600,000 voxels/s", "conv1", "cpu.conv.direct",
        "400.00", "440.00", "1.100", "measured", "(reading, stitching)", "10.00"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(BenchReport, JsonHasTheSameNumbers) {
  const auto json = nlohmann::json::parse(net_json(example()));
  EXPECT_EQ(json["network"], "n1");
  EXPECT_EQ(json["seeded_weights"], true);
  EXPECT_EQ(json["patch"], nlohmann::json({50, 60, 70}));
  EXPECT_EQ(json["bytes"], 3 << 20);
  ASSERT_EQ(json["runs"].size(), 3);
  EXPECT_EQ(json["runs"][0]["kind"], "cold");
  EXPECT_EQ(json["runs"][0]["measured_over_predicted"], 2.0);
  EXPECT_EQ(json["runs"][2]["kind"], "warm");
  EXPECT_EQ(json["runs"][2]["voxels_per_second"], 1.6e6);
  EXPECT_EQ(json["runs"][2]["processor_seconds"], 1.25);
  ASSERT_EQ(json["nodes"].size(), 2);
  EXPECT_EQ(json["nodes"][0]["node"], -1);
  EXPECT_EQ(json["nodes"][1]["predicted_ms"], 400.0);
  EXPECT_EQ(json["nodes"][1]["basis"], "measured");
  EXPECT_EQ(json["nodes"][1]["problem"], "conv 1x1x8x8x8 -> 2, k 2x2x2");
  EXPECT_EQ(json["nodes"][1]["error"], 0.25);
  EXPECT_EQ(json["rest_ms"], 10.0);
  EXPECT_EQ(json["planned_seconds"], 4.5);
  EXPECT_EQ(json["planned_error"], 0.125);
  EXPECT_EQ(json["planned_voxels_per_second"], 3e6);
  EXPECT_EQ(json["voxels"], 1e6);
  EXPECT_TRUE(json["joules"].is_null());
  NetTimes counted = example();
  counted.joules = 12.5;
  EXPECT_EQ(nlohmann::json::parse(net_json(counted))["joules"], 12.5);
}

}  // namespace
}  // namespace znni::bench
