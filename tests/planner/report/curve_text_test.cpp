#include "planner/report/curve_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace znni {
namespace {

const CurveSubject subject{"small", "a CPU", std::nullopt};
const std::vector<StrategyCurves> curves = {{"cpu", {{1024, {}, 0, 0}, {2048, {8, 9, 10}, 18770, 2000}}, {}},
                                            {"baseline", {{2048, {4, 4, 4}, 5.25, 1000}}, {}}};

TEST(PlannerCurveText, ATableHasARowForEachLimit) {
  EXPECT_EQ(curves_table(subject, curves),
            "small on a CPU, predicted in an endless volume\n"
            "  strategy  memory limit  voxels/s  takes     patch\n"
            "  cpu       1.00 KiB                          nothing fits\n"
            "  cpu       2.00 KiB        18,770  1.95 KiB  8x9x10\n"
            "  baseline  2.00 KiB          5.25  1000 B    4x4x4\n");
}

TEST(PlannerCurveText, TheVolumeIsNamed) {
  CurveSubject own = subject;
  own.volume = Vec3{40, 50, 60};
  EXPECT_TRUE(curves_table(own, curves).starts_with("small on a CPU, predicted in a volume of 40x50x60\n"));
  EXPECT_EQ(nlohmann::json::parse(curves_json(own, curves))["volume"], (std::vector{40, 50, 60}));
}

TEST(PlannerCurveText, JsonHasTheSamplesAndNullWhereNothingFits) {
  const nlohmann::json json = nlohmann::json::parse(curves_json(subject, curves));
  EXPECT_EQ(json["model"], "small");
  EXPECT_EQ(json["device"], "a CPU");
  EXPECT_TRUE(json["volume"].is_null());
  ASSERT_EQ(json["curves"].size(), 2U);
  EXPECT_EQ(json["curves"][0]["strategy"], "cpu");
  const nlohmann::json none = {
      {"memory_limit", 1024}, {"voxels_per_second", nullptr}, {"bytes", nullptr}, {"patch_input", nullptr}};
  const nlohmann::json some = {
      {"memory_limit", 2048}, {"voxels_per_second", 18770.0}, {"bytes", 2000}, {"patch_input", {8, 9, 10}}};
  EXPECT_EQ(json["curves"][0]["samples"], (nlohmann::json{none, some}));
  EXPECT_EQ(json["curves"][1]["samples"][0]["voxels_per_second"], 5.25);
}

}  // namespace
}  // namespace znni
