#include "planner/report/run_record.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/planner/planned.hpp"

namespace znni {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

// Returns what znni-bench net --json prints, with more than is read.
Json bench() {
  return {{"network", "net"},
          {"patch", {8, 9, 10}},
          {"S", 1},
          {"predicted_seconds", 2.0},
          {"voxels", 100.0},
          {"runs",
           {{{"kind", "cold"}, {"voxels_per_second", 1.0}},
            {{"kind", "warm"}, {"voxels_per_second", 30.0}},
            {{"kind", "warm"}, {"voxels_per_second", 10.0}},
            {{"kind", "warm"}, {"voxels_per_second", 20.0}}}},
          {"nodes",
           {{{"name", "conv1"}, {"primitive", "cpu.a"}, {"measured_ms", 1.5}},
            {{"name", "joined"}, {"primitive", "cpu.b"}, {"measured_ms", 0.0}}}}};
}

Json infer() { return {{"output", "x.h5:/y"}, {"extent", {4, 5, 6}}, {"seconds", 3.0}, {"voxels_per_second", 40.0}}; }

std::string refused(const Json& run) {
  const Result<RunRecord> read = parse_run(run.dump());
  return read ? "" : read.error().message;
}

TEST(PlannerRunRecord, OfWarmRunsTheMedianIsTaken) {
  const RunRecord run = parse_run(bench().dump(2)).value();
  EXPECT_EQ(run.label, "znni-bench net");
  EXPECT_EQ(run.voxels_per_second, 20);
  EXPECT_EQ(run.predicted_voxels_per_second, 50);
  EXPECT_EQ(run.network, "net");
  EXPECT_EQ(run.patch, (Vec3{8, 9, 10}));
  ASSERT_EQ(run.nodes.size(), 1U);
  EXPECT_EQ(run.nodes[0].name, "conv1");
  EXPECT_EQ(run.nodes[0].primitive, "cpu.a");
  EXPECT_DOUBLE_EQ(run.nodes[0].seconds, 1.5e-3);
}

TEST(PlannerRunRecord, ColdRunsCountWhereNoneIsWarm) {
  Json run = bench();
  run["runs"] = {{{"kind", "cold"}, {"voxels_per_second", 7.0}}};
  EXPECT_EQ(parse_run(run.dump()).value().voxels_per_second, 7);
}

TEST(PlannerRunRecord, AClientsRunHasItsOwnPrediction) {
  Json run = infer();
  EXPECT_EQ(parse_run(run.dump()).value().label, "znni infer, 4x5x6 voxels out");
  EXPECT_FALSE(parse_run(run.dump()).value().predicted_voxels_per_second);
  run["predicted_voxels_per_second"] = 44;
  EXPECT_EQ(parse_run(run.dump()).value().predicted_voxels_per_second, 44);
  EXPECT_EQ(parse_run(run.dump()).value().voxels_per_second, 40);
}

TEST(PlannerRunRecord, WhatIsNoRunIsRefusedInOneLine) {
  for (const char* text : {"", "voxels", "{", "[1]", "3"}) {
    const Result<RunRecord> read = parse_run(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(read.error().message, HasSubstr("expected the object that 'znni-bench net --json'"));
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  }
  EXPECT_THAT(refused({{"dry_run", true}}), HasSubstr("no 'voxels_per_second' above 0, and no 'runs'"));
  for (const Json& rate : {Json("40"), Json(0), Json(-1), Json(nullptr)}) {
    Json run = infer();
    run["voxels_per_second"] = rate;
    EXPECT_THAT(refused(run), HasSubstr("no 'voxels_per_second'")) << rate;
  }
}

TEST(PlannerRunRecord, FieldsOfTheWrongKindAreRefused) {
  const std::vector<std::tuple<const char*, Json, const char*>> cases = {
      {"network", 3, "no 'network'"},
      {"patch", {1, 2}, "no extents 'patch'"},
      {"patch", {1, 2, "3"}, "no extents"},
      {"runs", Json::array(), "in 'runs'"},
      {"runs", {1}, "in 'runs'"},
      {"nodes", nullptr, "no array 'nodes'"},
      {"nodes", {{{"name", "a"}}}, "a node without 'name' and 'primitive'"}};
  for (const auto& [key, value, said] : cases) {
    Json run = bench();
    run[key] = value;
    EXPECT_THAT(refused(run), HasSubstr(said)) << key;
  }
}

TEST(PlannerRunRecord, ARunIsOfThePlansNetAndPatch) {
  const test::Planned planned;
  const PlanReport report = make_report(planned.network, planned.plan, planned.catalogue, planned.spec).value();
  RunRecord run;
  EXPECT_TRUE(check_run(run, planned.plan, report));
  run.network = planned.plan.key.network;
  run.patch = report.geometry.patch_input;
  EXPECT_TRUE(check_run(run, planned.plan, report));
  run.patch->x += 1;
  EXPECT_THAT(check_run(run, planned.plan, report).error().message,
              HasSubstr("; the plan's are of " + to_string(report.geometry.patch_input)));
  run.network = "other";
  EXPECT_EQ(check_run(run, planned.plan, report).error().message,
            "measured of network 'other'; the plan is of '" + planned.plan.key.network + "'");
}

TEST(PlannerRunRecord, ANodesSecondsAreThoseOfItsPrimitive) {
  const test::Planned planned;
  const PlanReport report = make_report(planned.network, planned.plan, planned.catalogue, planned.spec).value();
  const NodeReport& node = report.nodes.back();
  RunRecord run;
  run.nodes = {{node.name, "another", 1}, {"elsewhere", node.step->primitive, 2}};
  EXPECT_FALSE(measured_seconds({run}, node));
  run.nodes.push_back({node.name, node.step->primitive, 3});
  EXPECT_EQ(measured_seconds({RunRecord(), run}, node), 3);
}

}  // namespace
}  // namespace znni
