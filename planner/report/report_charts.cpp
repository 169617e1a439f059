#include "planner/report/report_charts.hpp"

#include <algorithm>
#include <cmath>

#include "planner/base/text_table.hpp"
#include "planner/plan/summary.hpp"

namespace znni {
namespace {

constexpr std::size_t max_patches = 150;
constexpr int pipelined_patches = 3;

const ChartAxis rate_axis = {"voxels/s", ChartUnit::number, false};
const ChartAxis time_axis = {"time", ChartUnit::seconds, false};
const ChartAxis memory_axis = {"memory", ChartUnit::bytes, false};
const ChartAxis patch_memory_axis = {"memory of the patch's plan", ChartUnit::bytes, true};
const ChartAxis limit_axis = {"memory limit of the running plan", ChartUnit::bytes, true};
const ChartAxis patch_edge_axis = {"edge of a cube of as many voxels", ChartUnit::number, false};
const ChartAxis cube_axis = {"edge of a cubic patch, voxels", ChartUnit::number, false};

double edge_of(Vec3 patch) { return std::cbrt(static_cast<double>(voxels(patch))); }

std::string patch_text(double voxels_per_second, Vec3 patch, std::int64_t bytes) {
  return rate_text(voxels_per_second) + ", patch " + to_string(patch) + ", " + bytes_text(bytes);
}

// A patch that could have been chosen.
struct Spot {
  double voxels_per_second = 0;
  Vec3 patch;
  std::int64_t bytes = 0;
};

ChartPoint by_bytes(const Spot& spot) {
  return {static_cast<double>(spot.bytes), spot.voxels_per_second,
          patch_text(spot.voxels_per_second, spot.patch, spot.bytes)};
}

ChartPoint by_edge(const Spot& spot) {
  return {edge_of(spot.patch), spot.voxels_per_second, patch_text(spot.voxels_per_second, spot.patch, spot.bytes)};
}

// Returns the fastest, fastest first.
std::vector<Spot> fastest(const Network& network, const SearchLog& log) {
  std::vector<const Candidate*> able;
  for (const Candidate& candidate : log.candidates) {
    if (candidate.refused.empty() && candidate.voxels_per_second > 0) able.push_back(&candidate);
  }
  std::stable_sort(able.begin(), able.end(),
                   [](const Candidate* a, const Candidate* b) { return a->voxels_per_second > b->voxels_per_second; });
  std::vector<Spot> spots;
  for (const Candidate* candidate : able) {
    if (spots.size() == max_patches) break;
    const Result<Geometry> geometry = make_geometry(network, candidate->choice);
    if (!geometry) continue;
    spots.push_back({candidate->voxels_per_second, geometry->patch_input, candidate->memory.total()});
  }
  return spots;
}

// Returns the plan's first patch, with the bytes that the search counted for it alone.
Spot chosen_spot(const ReportFacts& facts) {
  const Plan& plan = facts.plan;
  Spot spot{plan.predicted.voxels_per_second, facts.report.input.n, plan.memory.total()};
  for (const Candidate& candidate : facts.log.candidates) {
    const bool is_chosen = candidate.refused.empty() && candidate.choice == plan.ladder.front().geometry;
    if (is_chosen) spot.bytes = candidate.memory.total();
  }
  return spot;
}

ChartSeries ring(ChartPoint point) { return {"chosen plan", ChartMark::ring, {std::move(point)}}; }

std::optional<ChartBar> bar_of(double length, std::string text) { return ChartBar{0, length, std::move(text)}; }

BarSeries measured_layers(const ReportFacts& facts) {
  BarSeries measured{"measured", {}};
  for (const NodeReport& node : facts.report.nodes) {
    const std::optional<Seconds> seconds = measured_seconds(facts.measured, node);
    measured.bars.push_back(seconds ? bar_of(*seconds, seconds_text(*seconds)) : std::nullopt);
  }
  return measured;
}

// Draws the pipeline: while the GPU computes the tail of a patch, the CPU computes the head of the next, for which one
// place stands ready.
BarChart pipeline_chart(const PlacesReport& places) {
  BarChart chart{"pipeline", "The pipeline, three patches: time from left to right", time_axis, {"CPU", "GPU"}, {},
                 true};
  double head_end = 0;
  double tail_end = 0;
  for (int patch = 1; patch <= pipelined_patches; ++patch) {
    const double tail_begin = std::max(head_end + places.cpu, tail_end);
    BarSeries own{"patch " + std::to_string(patch), {std::nullopt, std::nullopt}};
    if (places.cpu > 0) own.bars[0] = ChartBar{head_end, head_end + places.cpu, seconds_text(places.cpu)};
    own.bars[1] = ChartBar{tail_begin, tail_begin + places.gpu, seconds_text(places.gpu)};
    chart.series.push_back(std::move(own));
    head_end = tail_begin;
    tail_end = tail_begin + places.gpu;
  }
  return chart;
}

// Returns the node's seconds in one pass: those of all slabs if it is in a stem that runs in slabs.
Seconds seconds_in_pass(const PlanReport& report, const NodeReport& node) {
  const auto slabs = static_cast<double>(std::max<std::size_t>(1, report.geometry.stem.begins.size()));
  const bool in_slabs = node.node >= 0 && node.node <= report.geometry.stem.last;
  return (in_slabs ? slabs : 1) * node.step->seconds;
}

PointChart timeline_chart(const PlanReport& report) {
  PointChart chart{"pass-timeline",
                   "The first pass: time from left to right, bytes alive as height",
                   time_axis,
                   {"memory", ChartUnit::bytes, false},
                   {}};
  double begin = 0;
  for (const NodeReport& node : report.nodes) {
    const Seconds seconds = seconds_in_pass(report, node);
    const auto bytes = static_cast<double>(node.peak);
    const std::string text = seconds_text(seconds) + ", " + bytes_text(node.peak);
    chart.series.push_back(
        {node.name,
         ChartMark::area,
         {{begin, bytes, text}, {begin + seconds / 2, bytes, text}, {begin + seconds, bytes, text}}});
    begin += seconds;
  }
  return chart;
}

}  // namespace

std::vector<Chart> patch_charts(const ReportFacts& facts) {
  const Spot chosen = chosen_spot(facts);
  ChartSeries memory{"patches looked at", ChartMark::dots, {}};
  ChartSeries size = memory;
  for (const Spot& spot : fastest(facts.network, facts.log)) {
    memory.points.push_back(by_bytes(spot));
    size.points.push_back(by_edge(spot));
  }
  return {PointChart{"patches-memory",
                     "Patches looked at, by memory",
                     patch_memory_axis,
                     rate_axis,
                     {std::move(memory), ring(by_bytes(chosen))}},
          PointChart{"patches-size",
                     "Patches looked at, by size",
                     patch_edge_axis,
                     rate_axis,
                     {std::move(size), ring(by_edge(chosen))}}};
}

std::vector<Chart> measured_charts(const ReportFacts& facts) {
  if (facts.measured.empty()) return {};
  BarChart chart{"measured-rates", "Predicted and measured", rate_axis, {}, {{"predicted", {}}, {"measured", {}}}};
  for (const RunRecord& run : facts.measured) {
    const double predicted = predicted_rate(run, facts.plan);
    chart.labels.push_back(run.label);
    chart.series[0].bars.push_back(bar_of(predicted, rate_text(predicted)));
    chart.series[1].bars.push_back(bar_of(run.voxels_per_second, rate_text(run.voxels_per_second)));
  }
  return {std::move(chart)};
}

std::vector<Chart> curve_charts(const ReportFacts& facts) {
  if (facts.curves.empty()) return {};
  PointChart memory{"curve-memory", "Throughput against memory", limit_axis, rate_axis, {}};
  PointChart size{"curve-size", "Throughput against input size", cube_axis, rate_axis, {}};
  for (const StrategyCurves& own : facts.curves) {
    memory.series.push_back({own.strategy, ChartMark::line, {}});
    size.series.push_back({own.strategy, ChartMark::line, {}});
    for (const CurveSample& sample : own.memory) {
      if (sample.voxels_per_second <= 0) continue;
      const std::string text = patch_text(sample.voxels_per_second, sample.patch_input, sample.bytes);
      memory.series.back().points.push_back({static_cast<double>(sample.limit), sample.voxels_per_second, text});
    }
    for (const CurveSample& sample : own.size) {
      if (sample.voxels_per_second <= 0) continue;
      size.series.back().points.push_back(by_edge({sample.voxels_per_second, sample.patch_input, sample.bytes}));
    }
  }
  const Plan& plan = facts.plan;
  const double rate = plan.predicted.voxels_per_second;
  memory.series.push_back(ring(
      {static_cast<double>(plan.key.memory_limit), rate, patch_text(rate, facts.report.input.n, plan.memory.total())}));
  return {std::move(memory), std::move(size)};
}

std::vector<Chart> layer_charts(const ReportFacts& facts) {
  BarChart times{"layer-seconds", "Seconds in a patch, all runs together", time_axis, {}, {{"predicted", {}}}};
  BarChart bytes{
      "layer-bytes", "Bytes alive while a layer runs, other layers' tensors included", memory_axis, {}, {{"peak", {}}}};
  for (const NodeReport& node : facts.report.nodes) {
    const Seconds seconds = seconds_in_patch(node);
    times.labels.push_back(node.name);
    times.series[0].bars.push_back(bar_of(seconds, seconds_text(seconds) + " " + node.step->primitive));
    bytes.series[0].bars.push_back(bar_of(static_cast<double>(node.peak), bytes_text(node.peak)));
  }
  bytes.labels = times.labels;
  BarSeries measured = measured_layers(facts);
  const bool has_any =
      std::any_of(measured.bars.begin(), measured.bars.end(), [](const auto& bar) { return bool(bar); });
  if (has_any) times.series.push_back(std::move(measured));
  return {std::move(times), std::move(bytes)};
}

std::vector<Chart> pass_charts(const ReportFacts& facts) {
  std::vector<Chart> charts;
  if (facts.report.places) charts.emplace_back(pipeline_chart(*facts.report.places));
  charts.emplace_back(timeline_chart(facts.report));
  return charts;
}

double predicted_rate(const RunRecord& run, const Plan& plan) {
  return run.predicted_voxels_per_second.value_or(plan.predicted.voxels_per_second);
}

}  // namespace znni
