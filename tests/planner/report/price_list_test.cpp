#include "planner/report/price_list.hpp"

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

// Returns a list for 7.2 million voxels: 2 h and 1 dollar on the slow machine, 1 h and 2 dollars on the fast one.
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
            "  machine  dollars/h  strategy  voxels/s  endless voxels/s  voxels/dollar  takes   dollars  basis\n"
            "  slow        0.5000  cpu          1,000             1,500      7,200,000  2.00 h     1.00  model\n"
            "  fast          2.00  cpu          2,000             4,000      3,600,000  1.00 h     2.00  model\n"
            "  tiny        0.5000                                                                        no plan fits\n"
            "cheapest   slow, 1.00 dollars in 2.00 h\n");
  list.within = 5400;
  EXPECT_NE(price_table(list).find("\ncheapest   fast, 2.00 dollars in 1.00 h, within 1.50 h\n"), std::string::npos);
  list.within = 1800;
  EXPECT_NE(price_table(list).find("\ncheapest   none ends within 30.0 min; the soonest is fast, in 1.00 h\n"),
            std::string::npos);
}

TEST(PlannerPriceList, ShortTimesHaveSmallUnits) {
  const auto takes = [](double output_voxels) {
    const std::string table =
        price_table({"small", Vec3{9, 9, 9}, output_voxels, std::nullopt, {priced("one", 1, 1000)}});
    const std::string in = " dollars in ";
    const std::size_t at = table.find(in) + in.size();
    return table.substr(at, table.size() - 1 - at);
  };
  EXPECT_EQ(takes(0.5), "500.0 us");
  EXPECT_EQ(takes(20), "20.00 ms");
  EXPECT_EQ(takes(1500), "1.50 s");
  EXPECT_EQ(takes(59000), "59.0 s");
  EXPECT_EQ(takes(90000), "1.50 min");
  EXPECT_EQ(takes(3e6), "50.0 min");
  EXPECT_EQ(takes(1e8), "27.8 h");
}

TEST(PlannerPriceList, OfAnEndlessVolumeTheTableHasNeitherTimeNorCost) {
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
