#include "planner/report/explain.hpp"

#include "planner/plan/summary.hpp"
#include "planner/search/candidates.hpp"
#include "planner/search/geometry_search.hpp"
#include "planner/search/rung_plan.hpp"
#include "tests/planner/planned.hpp"

namespace znni {
namespace {

std::string text_of(const test::Planned& planned) {
  const Result<PlanReport> report = make_report(planned.network, planned.plan, planned.catalogue, planned.spec);
  EXPECT_TRUE(report);
  return explain(planned.network, planned.plan, *report, planned.log);
}

TEST(PlannerExplain, TellsWhatWasChosenAndWhy) {
  const test::Planned planned;
  const std::string text = text_of(planned);
  for (const char* word :
       {"chain: 5 nodes, 1 -> 2 channels, field of view 3x5x5, pooling stride 2x2x2", "patch ", "passes", "border",
        "memory     limit", "strategy cpu, precision fp32", "searched", "GFLOP/s", "runner-up", " x",
        "next best patches", "larger patches that do not fit", "needs at least"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word << " is not in\n" << text;
  }
  for (const Node& node : planned.network.nodes) EXPECT_NE(text.find(node.name), std::string::npos);
}

TEST(PlannerExplain, SaysThatCombinationsWereCut) {
  test::Planned planned;
  EXPECT_NE(text_of(planned).find(" combined exactly, "), std::string::npos);
  planned.log.cut = 3;
  const std::string text = text_of(planned);
  EXPECT_EQ(text.find(" combined exactly, "), std::string::npos);
  EXPECT_NE(text.find("3 times a patch had too many combinations of primitives"), std::string::npos) << text;
}

TEST(PlannerExplain, RefusalsAreOfPrimitivesThatCouldHaveBeenMeant) {
  const std::string text = text_of(test::Planned());
  EXPECT_NE(text.find("k = 1x1x1 is not worth a transform"), std::string::npos) << text;
  EXPECT_EQ(text.find("not a convolution"), std::string::npos) << text;
  EXPECT_EQ(text.find("not a reorder"), std::string::npos) << text;
}

TEST(PlannerExplain, RefusalsOfCropsAreTold) {
  Network network = drawn::chain(1);
  network.nodes.push_back({"border", Crop{Vec3::cube(1), {}}, {1}});
  test::Planned planned(network);
  planned.log.refusals.push_back({1, "drawn.crop.rows", "rows are too short"});
  const std::string text = text_of(planned);
  EXPECT_NE(text.find("rows are too short"), std::string::npos) << text;
  EXPECT_EQ(text.find("not a convolution"), std::string::npos) << text;
}

TEST(PlannerExplain, TellsWhatSocketsWouldDoTheOtherWay) {
  test::Planned planned;
  EXPECT_EQ(text_of(planned).find("sockets"), std::string::npos);
  planned.log.sockets = SearchLog::Sockets{2000, 1500};
  EXPECT_NE(text_of(planned).find("sockets    all on the same patch 2,000 voxels/s; each on its own 1,500 voxels/s\n"),
            std::string::npos);
  planned.log.sockets = SearchLog::Sockets{2000, 0};
  EXPECT_NE(text_of(planned).find("; each on its own does not fit\n"), std::string::npos);
  planned.log.sockets = SearchLog::Sockets{2000, 2500, false};
  EXPECT_NE(text_of(planned).find("; each on its own 2,500 voxels/s, by formulas alone: a socket was not measured\n"),
            std::string::npos);
  planned.spec.threads = planned.spec.sockets = planned.plan.sockets = 2;
  planned.log.sockets = SearchLog::Sockets{2000, 2500};
  EXPECT_NE(text_of(planned).find("sockets    each on its own 2,500 voxels/s; all on the same patch 2,000 voxels/s\n"),
            std::string::npos);
}

TEST(PlannerExplain, TellsThatAStreamHasPhases) {
  const test::Planned planned;
  PlanReport report = make_report(planned.network, planned.plan, planned.catalogue, planned.spec).value();
  report.geometry = make_geometry(planned.network, {{4, 11, 11}, 1, {PoolingMode({1, 2, 2}, false)}, 0, true}).value();
  const std::string text = explain(planned.network, planned.plan, report, planned.log);
  EXPECT_NE(text.find("passes     1 of 4x11x11: the net runs on 4 shifted windows, in phases: a whole column on each, "
                      "which writes its part of the outputs\n"),
            std::string::npos)
      << text;
}

TEST(PlannerExplain, TellsWhereRoundingErrorsReachFurtherThanTheFieldOfView) {
  const test::Planned planned;
  PlanReport report = make_report(planned.network, planned.plan, planned.catalogue, planned.spec).value();
  report.rounding.margin = {1, 0, 7};
  const std::string text = explain(planned.network, planned.plan, report, planned.log);
  EXPECT_NE(text.find("\nrounding   a voxel's rounding error reaches 5x5x19 voxels; field of view 3x5x5\n"),
            std::string::npos)
      << text;
  report.rounding.margin = {};
  EXPECT_EQ(explain(planned.network, planned.plan, report, planned.log).find("rounding"), std::string::npos);
}

// Returns the number before `unit` in the first line that has it.
double told(const std::string& text, const std::string& unit) {
  const std::size_t end = text.find(unit);
  EXPECT_NE(end, std::string::npos) << unit << " is not in\n" << text;
  std::string digits = text.substr(text.rfind(' ', end - 1) + 1, end);
  std::erase(digits, ',');
  return std::stod(digits);
}

// This holds for streams in phases and for patches alike.
TEST(PlannerExplain, VoxelsPerSecondAreThoseOfAPatchOverItsTime) {
  int in_phases = 0;
  for (const char* modes : {"mpf", "mpf:1x2x2:recompute", "mpf:1x2x1:recompute", "max"}) {
    test::Planned planned;
    SearchOptions options;
    options.memory_limit = 300000;
    options.max_extent = 12;
    options.pins.modes = parse_pinned_modes(modes).value();
    options.ladder = false;
    const std::unique_ptr<CostSource> costs = modelled_costs();
    std::vector<GeometryChoice> candidates = make_candidates(planned.network, options);
    const bool is_streamed = options.pins.modes.front().mode == PoolMode::fragments;
    std::erase_if(candidates, [&](const GeometryChoice& choice) { return choice.streamed != is_streamed; });
    GeometrySearch search(planned.network, planned.spec, planned.catalogue, *costs, options,
                          std::vector<const Primitive*>(planned.network.nodes.size(), nullptr));
    const FoundRung found = search.best(candidates, {}).value();
    planned.plan = rung_plan(planned.network, planned.spec, planned.catalogue, options, found);
    const double slower = 1e5;  // so that seconds are told; voxels per second then have two digits
    planned.plan.predicted.seconds *= slower;
    planned.plan.predicted.voxels_per_second /= slower;
    const PlanReport report = make_report(planned.network, planned.plan, planned.catalogue, planned.spec).value();
    const std::string text = explain(planned.network, planned.plan, report, {});
    const double voxels_of_patch = static_cast<double>(mul(report.output.S, voxels(report.output.n)));
    EXPECT_NEAR(told(text, " voxels/s") * told(text, " s a patch") / voxels_of_patch, 1, 0.05) << text;
    in_phases += report.geometry.phases > 1 ? 1 : 0;
    EXPECT_EQ(report.geometry.phases > 1, text.find(" phases of ") != std::string::npos);
    EXPECT_NE(summary(planned.plan).find(patch_seconds_text(planned.plan)), std::string::npos);
  }
  EXPECT_GT(in_phases, 0);
}

TEST(PlannerExplain, WithoutALogThereIsStillThePlan) {
  test::Planned planned;
  planned.log = {};
  const std::string text = text_of(planned);
  EXPECT_NE(text.find("conv1"), std::string::npos);
  EXPECT_EQ(text.find("next best"), std::string::npos);
}

}  // namespace
}  // namespace znni
