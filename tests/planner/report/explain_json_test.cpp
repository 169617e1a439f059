#include "planner/report/explain_json.hpp"

#include <nlohmann/json.hpp>

#include "planner/plan/pairs.hpp"
#include "tests/planner/planned.hpp"

namespace znni {
namespace {

nlohmann::json json_of(const test::Planned& planned) {
  const Result<PlanReport> report = make_report(planned.network, planned.plan, planned.catalogue, planned.spec);
  EXPECT_TRUE(report);
  return nlohmann::json::parse(explain_json(planned.plan, *report, planned.spec));
}

TEST(PlannerExplainJson, HasWhatTheInterfacePromises) {
  const test::Planned planned;
  const nlohmann::json json = json_of(planned);
  EXPECT_EQ(json["input"].size(), 5U);
  EXPECT_EQ(json["output"].size(), 5U);
  EXPECT_EQ(json["output"][1], 2);
  EXPECT_TRUE(json["theta"].is_null());
  EXPECT_EQ(json["precision"], "fp32");
  EXPECT_EQ(json["predicted"]["voxels_per_second"], planned.plan.predicted.voxels_per_second);
  EXPECT_TRUE(json["predicted"]["volume"].is_null());
  EXPECT_EQ(json["predicted"]["endless_voxels_per_second"], planned.plan.predicted.voxels_per_second);
  EXPECT_EQ(json["predicted"]["seconds"], planned.plan.predicted.seconds);
  EXPECT_EQ(json["predicted"]["border_cost"], planned.plan.predicted.border_cost);
  EXPECT_EQ(json["machine"]["name"], "drawn device");
  EXPECT_EQ(json["ladder"].size(), planned.plan.ladder.size());
}

TEST(PlannerExplainJson, OfAVolumeTheEndlessRateStandsBeside) {
  test::Planned planned;
  planned.plan.key.volume = Vec3{40, 50, 60};
  planned.plan.predicted.endless_voxels_per_second = 1200;
  const nlohmann::json predicted = json_of(planned)["predicted"];
  EXPECT_EQ(predicted["volume"], (std::vector{40, 50, 60}));
  EXPECT_EQ(predicted["endless_voxels_per_second"], 1200);
  EXPECT_EQ(predicted["voxels_per_second"], planned.plan.predicted.voxels_per_second);
}

TEST(PlannerExplainJson, NodesInOrderWithTheirSteps) {
  const test::Planned planned;
  const nlohmann::json json = json_of(planned);
  const std::vector<Step>& steps = planned.plan.ladder.front().segments.front().steps;
  ASSERT_EQ(json["nodes"].size(), steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const nlohmann::json& node = json["nodes"][i];
    EXPECT_EQ(node["index"], steps[i].node);
    EXPECT_EQ(node["primitive"], steps[i].primitive);
    EXPECT_EQ(node["predicted_seconds"], steps[i].seconds);
    EXPECT_EQ(node["basis"], "model");
    EXPECT_TRUE(node["division"].is_null());
    EXPECT_EQ(node["pooling_mode"].is_null(), node["name"] != "pool1");
    EXPECT_EQ(node["bytes"]["peak"] == 0, is_joined(steps[i])) << "the call of a pair is that of its first node";
    for (const Setting& setting : steps[i].variant) EXPECT_EQ(node["variant"][setting.name], setting.value);
  }
  ASSERT_EQ(json["segments"].size(), 1U);
  EXPECT_EQ(json["segments"][0]["nodes"][1], 4);
  EXPECT_EQ(json["segments"][0]["place"], "cpu");
}

TEST(PlannerExplainJson, RunsGroupsAndSlabs) {
  test::Planned planned;
  const std::vector<PoolingMode> modes = {PoolingMode({2, 1, 1}, false)};
  const auto legal = [&](int axis) { return legal_extents(planned.network, modes, axis, 14).back(); };
  planned.plan.ladder.front().geometry = {{legal(0), legal(1), legal(2)}, 1, modes, 1};
  const Geometry geometry = make_geometry(planned.network, planned.plan.ladder.front().geometry).value();
  PlanReport report;
  report.geometry = geometry;
  for (const Step& step : planned.plan.ladder.front().segments.front().steps) {
    NodeReport node;
    node.node = step.node;
    node.step = &step;
    node.runs = runs_of(geometry, step.node);
    if (step.node == 1) node.mode = geometry.choice.modes[0];
    report.nodes.push_back(node);
  }
  const nlohmann::json json = nlohmann::json::parse(explain_json(planned.plan, report, planned.spec));
  EXPECT_EQ(json["passes"], 2);
  EXPECT_EQ(json["ladder"][0]["stem_slab"], 1);
  EXPECT_EQ(json["ladder"][0]["modes"][0], "mpf:2x1x1:recompute");
  for (const nlohmann::json& node : json["nodes"]) {
    const int index = node["index"];
    EXPECT_EQ(node["runs"], runs_of(geometry, index)) << index;
    if (index != 1) {
      EXPECT_TRUE(node["pooling_groups"].is_null());
      continue;
    }
    EXPECT_EQ(node["pooling_mode"], "mpf");
    EXPECT_EQ(node["pooling_groups"]["count"], (std::vector<int>{2, 1, 1}));
    EXPECT_EQ(node["pooling_groups"]["input"], "recompute");
  }
}

TEST(PlannerExplainJson, HowFarRoundingErrorsReach) {
  const test::Planned planned;
  PlanReport report = make_report(planned.network, planned.plan, planned.catalogue, planned.spec).value();
  report.rounding.margin = {1, 0, 7};
  report.nodes.front().spread = {0, 4, 6};
  const nlohmann::json json = nlohmann::json::parse(explain_json(planned.plan, report, planned.spec));
  EXPECT_EQ(json["rounding_reach"]["voxels"], (std::vector<int>{5, 5, 19}));
  EXPECT_EQ(json["rounding_reach"]["field_of_view"], (std::vector<int>{3, 5, 5}));
  EXPECT_EQ(json["nodes"][0]["spread"], (std::vector<int>{0, 4, 6}));
}

TEST(PlannerExplainJson, PhasesOfAStream) {
  const test::Planned planned;
  PlanReport report;
  report.geometry = make_geometry(planned.network, {{4, 11, 11}, 1, {PoolingMode({1, 2, 2}, false)}, 0, true}).value();
  const nlohmann::json json = nlohmann::json::parse(explain_json(planned.plan, report, planned.spec));
  EXPECT_EQ(json["passes"], 1);
  EXPECT_EQ(json["stream"]["phases"], 4);
  EXPECT_EQ(json["stream"]["turns"], 4);
  EXPECT_EQ(json["stream"]["planes"], 4);
}

TEST(PlannerExplainJson, ErrorBarsAreNullWhereNobodyKnows) {
  test::Planned planned;
  planned.plan.predicted.error = 0.25;
  planned.plan.ladder.front().segments.front().steps.back().error = 0.5;
  const nlohmann::json json = json_of(planned);
  EXPECT_EQ(json["predicted"]["error"], 0.25);
  EXPECT_EQ(json["nodes"].back()["error"], 0.5);
  EXPECT_TRUE(json["nodes"].front()["error"].is_null());
}

TEST(PlannerExplainJson, MemoryAddsUp) {
  const test::Planned planned;
  const nlohmann::json memory = json_of(planned)["memory"];
  EXPECT_EQ(memory["host"]["peak"], planned.plan.memory.total());
  EXPECT_EQ(memory["host"]["transient"], planned.plan.memory.transient);
  EXPECT_EQ(memory["host"]["weights"], planned.plan.memory.weights);
  EXPECT_EQ(memory["device"]["peak"], 0);
  EXPECT_EQ(memory["pinned"]["peak"], 0);
  EXPECT_EQ(memory["limit"], 300000);
}

}  // namespace
}  // namespace znni
