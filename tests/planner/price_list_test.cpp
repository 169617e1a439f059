#include "planner/price_list.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace znni {
namespace {

PricedPlan priced(const std::string& name, double dollars, double rate, double endless = 0) {
  return {name + ".pbtxt", name, dollars, "cpu", {rate, 1, 1, Basis::model, 0, endless}, 1 << 20};
}

PricedPlan without_plan(const std::string& name) {
  PricedPlan plan = priced(name, 0.5, 0);
  plan.refused = "no plan fits";
  return plan;
}

// 7.2 million voxels: 2 h and 1 dollar on the slow machine, 1 h and 2 dollars on the fast one.
PriceList list_of_volume() {
  return {"small",
          Vec3{101, 201, 401},
          7.2e6,
          std::nullopt,
          {priced("slow", 0.5, 1000, 1500), priced("fast", 2, 2000, 4000), without_plan("tiny")}};
}

TEST(PlannerPriceList, TimeAndCostAreThoseOfTheVolume) {
  const PriceList list = list_of_volume();
  EXPECT_DOUBLE_EQ(voxels_per_dollar(list.plans[0]), 7.2e6);
  EXPECT_DOUBLE_EQ(voxels_per_dollar(list.plans[1]), 3.6e6);
  EXPECT_DOUBLE_EQ(seconds_of_volume(list, list.plans[0]), 7200);
  EXPECT_DOUBLE_EQ(dollars_of_volume(list, list.plans[0]), 1);
  EXPECT_DOUBLE_EQ(dollars_of_volume(list, list.plans[1]), 2);
}

TEST(PlannerPriceList, TheCheapestIsTheOneThatEndsInTime) {
  PriceList list = list_of_volume();
  EXPECT_EQ(cheapest(list), 0U);
  list.within = 7200;
  EXPECT_EQ(cheapest(list), 0U);
  list.within = 7199;
  EXPECT_EQ(cheapest(list), 1U);
  list.within = 3599;
  EXPECT_FALSE(cheapest(list));
}

TEST(PlannerPriceList, WithoutAVolumeVoxelsADollarDecideAndOfEqualsTheFirst) {
  PriceList list{"small", std::nullopt, 0, std::nullopt, {priced("a", 2, 2000), priced("b", 0.5, 1000)}};
  EXPECT_EQ(cheapest(list), 1U);
  list.plans[0].dollars_per_hour = 1;
  EXPECT_EQ(cheapest(list), 0U);
  list.plans = {without_plan("tiny")};
  EXPECT_FALSE(cheapest(list));
}

TEST(PlannerPriceList, ATableHasARowForEachMachineAndNamesTheCheapest) {
  PriceList list = list_of_volume();
  EXPECT_EQ(price_table(list),
            "small on a volume of 101x201x401, 7,200,000 voxels of output\n"
            "  machine  dollars/h  strategy  voxels/s  endless voxels/s  voxels/dollar  hours  dollars  basis\n"
            "  slow        0.5000  cpu          1,000             1,500      7,200,000    2.0     1.00  model\n"
            "  fast          2.00  cpu          2,000             4,000      3,600,000    1.0     2.00  model\n"
            "  tiny        0.5000                                                                       no plan fits\n"
            "cheapest   slow, 1.00 dollars in 2.0 hours\n");
  list.within = 5400;
  EXPECT_NE(price_table(list).find("\ncheapest   fast, 2.00 dollars in 1.0 hours, within 1.5 hours\n"),
            std::string::npos);
  list.within = 1800;
  EXPECT_NE(price_table(list).find("\ncheapest   none ends within 0.500 hours; the soonest is fast, in 1.0 hours\n"),
            std::string::npos);
}

TEST(PlannerPriceList, OfAnEndlessVolumeTheTableHasNeitherHoursNorCost) {
  const PriceList list{"small", std::nullopt, 0, std::nullopt, {priced("a", 2, 2000), without_plan("tiny")}};
  EXPECT_EQ(price_table(list),
            "small in an endless volume\n"
            "  machine  dollars/h  strategy  voxels/s  voxels/dollar  basis\n"
            "  a             2.00  cpu          2,000      3,600,000  model\n"
            "  tiny        0.5000                                     no plan fits\n"
            "cheapest   a, 3,600,000 voxels a dollar\n");
}

TEST(PlannerPriceList, JsonHasNumbersAndNullWhereThereIsNone) {
  PriceList list = list_of_volume();
  list.within = 5400;
  const nlohmann::json json = nlohmann::json::parse(price_json(list));
  EXPECT_EQ(json["model"], "small");
  EXPECT_EQ(json["volume"], (std::vector{101, 201, 401}));
  EXPECT_EQ(json["within_seconds"], 5400);
  EXPECT_EQ(json["cheapest"], 1);
  const nlohmann::json& slow = json["machines"][0];
  EXPECT_EQ(slow["file"], "slow.pbtxt");
  EXPECT_EQ(slow["dollars_per_hour"], 0.5);
  EXPECT_EQ(slow["voxels_per_second"], 1000);
  EXPECT_EQ(slow["endless_voxels_per_second"], 1500);
  EXPECT_EQ(slow["voxels_per_dollar"], 7.2e6);
  EXPECT_EQ(slow["hours"], 2);
  EXPECT_EQ(slow["dollars"], 1);
  EXPECT_EQ(slow["basis"], "model");
  EXPECT_TRUE(slow["error"].is_null());
  EXPECT_TRUE(slow["refused"].is_null());
  const nlohmann::json& tiny = json["machines"][2];
  EXPECT_EQ(tiny["refused"], "no plan fits");
  for (const char* field : {"strategy", "voxels_per_second", "bytes", "voxels_per_dollar", "hours", "dollars"}) {
    EXPECT_TRUE(tiny[field].is_null()) << field;
  }
  list.volume.reset();
  list.within.reset();
  const nlohmann::json endless = nlohmann::json::parse(price_json(list));
  EXPECT_TRUE(endless["volume"].is_null());
  EXPECT_TRUE(endless["machines"][0]["hours"].is_null());
  EXPECT_EQ(endless["cheapest"], 0);
}

}  // namespace
}  // namespace znni
