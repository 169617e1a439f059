#include "planner/report_page.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "planner/summary.hpp"
#include "planner/svg_chart.hpp"
#include "planner/text_table.hpp"

namespace znni {
namespace {

constexpr std::size_t most_examples = 400;

constexpr const char* style = R"(<style>
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #ffffff; --faint: #d8d8d8;
  --c0: #2166ac; --c1: #b2582b; --c2: #1b7837; --c3: #762a83; --c4: #8c6d1f; --c5: #4d4d4d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #161616; --faint: #3a3a3a;
  --c0: #6fb1ea; --c1: #eb9a6b; --c2: #6cc687; --c3: #c58fd3; --c4: #d3b55c; --c5: #b0b0b0; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
figure { margin: 1rem 0; } figcaption { font-weight: 600; }
figure { overflow-x: auto; } svg { width: 100%; height: auto; } .scroll svg { min-width: 40rem; } svg text { font-size: 11px; fill: var(--ink); }
.axis { stroke: var(--ink); } .grid { stroke: var(--faint); }
.s0 { --c: var(--c0); } .s1 { --c: var(--c1); } .s2 { --c: var(--c2); }
.s3 { --c: var(--c3); } .s4 { --c: var(--c4); } .s5 { --c: var(--c5); }
polyline { fill: none; stroke: var(--c); stroke-width: 2; } circle, rect { fill: var(--c); }
.chosen { fill: none; stroke: var(--ink); stroke-width: 2; } .legend .mark { color: var(--ink); }
code { overflow-wrap: anywhere; }
@media (max-width: 30rem) { .plot text { font-size: 19px; } .plot .odd { display: none; } dd { margin-left: 1rem; } }
.legend span { color: var(--c); font-weight: 600; margin-right: 1rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 13px; }
th, td { text-align: left; padding: 0.15rem 0.7rem 0.15rem 0; border-bottom: 1px solid var(--faint); }
dt { font-weight: 600; } dd { margin: 0 0 0.5rem 0; }
</style>
)";

using Rows = std::vector<TextRow>;

// The first row is the head.
std::string table(const Rows& rows) {
  std::string html = "<div class=\"wide\"><table>\n";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string cell = i == 0 ? "th" : "td";
    html += "<tr>";
    for (const std::string& text : rows[i]) html += "<" + cell + ">" + escaped(text) + "</" + cell + ">";
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string fact(const char* name, const std::string& text) {
  return "<dt>" + std::string(name) + "</dt><dd>" + escaped(text) + "</dd>\n";
}

std::string origin_facts(const PageOrigin& origin) {
  return fact("Made", origin.date + " by planner " + origin.version) + "<dt>Command</dt><dd><code>" +
         escaped(origin.command) + "</code></dd>\n";
}

std::string head_facts(const Plan& plan, const PlanReport& report, const std::string& next_better,
                       const PageOrigin& origin) {
  std::string html = "<dl>\n";
  html += fact("Predicted", predicted_rate_text(plan) + ", " + patch_seconds_text(plan) + " (" +
                                std::string(to_string(plan.predicted.basis)) + error_text(plan.predicted.error) + ")");
  html +=
      fact("Precision", std::string(to_string(plan.key.precision)) + (report.places ? " or stricter, per layer" : ""));
  html += fact("Patch", to_string(report.input.n) + " in, " + to_string(report.output.n) + " out, S " +
                            std::to_string(report.input.S) + ", pooling " + modes_text(report.geometry.choice.modes) +
                            ", " + std::to_string(pass_count(report.geometry)) + " passes");
  html += fact("Memory", memory_text(plan));
  if (report.places) {
    html += fact("Places", "theta " + std::to_string(report.places->theta) + "; of all memories " +
                               to_string(report.places->bytes));
  }
  html += fact("Border", fixed_text(plan.predicted.border_cost, 2) + " times the work of an endless patch");
  if (!next_better.empty()) html += fact("The next better thing", next_better);
  return html + fact("Device", plan.key.device) + origin_facts(origin) + "</dl>\n";
}

std::string sample_text(const CurveSample& sample) {
  return rate_text(sample.voxels_per_second) + ", patch " + to_string(sample.patch_input) + ", " +
         bytes_text(sample.bytes);
}

ChartPoint chosen_point(const Plan& plan, const PlanReport& report) {
  return {static_cast<double>(plan.key.memory_limit), plan.predicted.voxels_per_second,
          "chosen plan: " + rate_text(plan.predicted.voxels_per_second) + ", patch " + to_string(report.input.n) +
              ", " + bytes_text(plan.memory.total())};
}

std::string curves_html(const std::vector<StrategyCurves>& curves, const ChartPoint& chosen) {
  Chart memory{"Throughput against memory", "memory of the running plan", "voxels/s", {}, true, chosen};
  Chart size{"Throughput against input size", "edge of a cubic patch, voxels", "voxels/s", {}, false, std::nullopt};
  for (const StrategyCurves& own : curves) {
    ChartSeries by_limit{own.strategy, {}};
    for (const CurveSample& sample : own.memory) {
      if (sample.voxels_per_second <= 0) continue;
      by_limit.points.push_back({static_cast<double>(sample.limit), sample.voxels_per_second, sample_text(sample)});
    }
    ChartSeries by_edge{own.strategy, {}};
    for (const CurveSample& sample : own.size) {
      if (sample.voxels_per_second <= 0) continue;
      by_edge.points.push_back(
          {static_cast<double>(sample.patch_input.x), sample.voxels_per_second, sample_text(sample)});
    }
    memory.series.push_back(std::move(by_limit));
    size.series.push_back(std::move(by_edge));
  }
  return "<section id=\"curves\"><h2>What memory and patch size are worth</h2>\n" + line_chart(memory) +
         line_chart(size) + "</section>\n";
}

double seconds_in_patch(const NodeReport& node) { return static_cast<double>(node.runs) * node.step->seconds; }

std::string layers_html(const PlanReport& report) {
  std::vector<Bar> times;
  std::vector<Bar> peaks;
  Rows rows = {
      {"layer", "writes", "primitive", "formats", "precision", "one run", "runs", "place", "basis", "keeps", "peak"}};
  for (const NodeReport& node : report.nodes) {
    const Step& step = *node.step;
    const std::string how = step.primitive + (step.reorder.empty() ? "" : " + " + step.reorder);
    times.push_back({node.name, seconds_in_patch(node), seconds_text(seconds_in_patch(node)) + " " + step.primitive});
    peaks.push_back({node.name, static_cast<double>(node.peak), bytes_text(node.peak)});
    rows.push_back({node.name, to_string(node.shape), how, layout_text(step.in) + " -> " + layout_text(step.out),
                    std::string(to_string(precision_of(step))), seconds_text(step.seconds), std::to_string(node.runs),
                    std::string(to_string(node.place)), std::string(to_string(step.basis)) + error_text(step.error),
                    bytes_text(node.persistent), bytes_text(node.peak)});
  }
  return "<section id=\"layers\"><h2>Time and memory of every layer</h2>\n" +
         bar_chart("Seconds in a patch, all runs together", times) +
         bar_chart("Bytes alive while a layer runs, other layers' tensors included", peaks) + table(rows) +
         "</section>\n";
}

// Three patches, one behind the other: while the GPU computes the tail of one, the CPU computes the head of the next,
// for which a single place stands ready.
std::string pipeline_chart(const PlacesReport& places) {
  Lane cpu{"CPU", {}};
  Lane gpu{"GPU", {}};
  double head_end = 0;
  double tail_end = 0;
  for (int patch = 0; patch < 3; ++patch) {
    const std::string name = "patch " + std::to_string(patch + 1);
    const double tail_begin = std::max(head_end + places.cpu, tail_end);
    if (places.cpu > 0) cpu.spans.push_back({name, head_end, places.cpu, patch});
    gpu.spans.push_back({name, tail_begin, places.gpu, patch});
    head_end = tail_begin;
    tail_end = tail_begin + places.gpu;
  }
  std::vector<Lane> lanes;
  if (!cpu.spans.empty()) lanes.push_back(std::move(cpu));
  lanes.push_back(std::move(gpu));
  return lane_chart("The pipeline, three patches: time from left to right", lanes);
}

std::string timeline_html(const PlanReport& report) {
  std::vector<Span> spans;
  const auto slabs = static_cast<double>(std::max<std::size_t>(1, report.geometry.head.begins.size()));
  for (const NodeReport& node : report.nodes) {
    const bool in_slabs = node.node >= 0 && node.node <= report.geometry.head.last;
    spans.push_back({node.name, (in_slabs ? slabs : 1) * node.step->seconds, static_cast<double>(node.peak),
                     static_cast<int>(spans.size())});
  }
  return "<section id=\"timeline\"><h2>The course of a pass</h2>\n" +
         (report.places ? pipeline_chart(*report.places) : "") +
         timeline("The first pass: time from left to right, bytes alive as height", spans) + "</section>\n";
}

// Why patches are out, without their numbers.
std::string reason_kind(const std::string& refused) {
  if (refused.starts_with("needs ")) return "needs more memory than there is";
  if (refused.starts_with("slower")) return "a bound on its speed is below the best";
  if (refused.starts_with("no combination")) return "fits only in ways that are slower than the best";
  return refused;
}

std::string refusals_html(const Network& network, const SearchLog& log) {
  std::map<std::string, std::size_t> kinds;
  Rows examples = {{"pass input", "S", "pooling", "why"}};
  for (const Candidate& candidate : log.candidates) {
    if (candidate.refused.empty()) continue;
    const bool first_of_kind = ++kinds[reason_kind(candidate.refused)] <= most_examples / 8;
    if (!first_of_kind || examples.size() > most_examples) continue;
    examples.push_back({to_string(candidate.choice.pass_input), std::to_string(candidate.choice.S),
                        modes_text(candidate.choice.modes), candidate.refused});
  }
  Rows counts = {{"patches", "why"}};
  for (const auto& [kind, count] : kinds) counts.push_back({std::to_string(count), kind});
  Rows primitives = {{"layer", "primitive", "why"}};
  for (const Refusal& refusal : log.refusals) {
    primitives.push_back(
        {network.nodes[static_cast<std::size_t>(refusal.node)].name, refusal.primitive, refusal.reason});
  }
  return "<section id=\"refused\"><h2>What was refused</h2>\n<p>" + std::to_string(log.candidates.size()) +
         " patches were looked at.</p>\n" + table(counts) + "<details><summary>Some of each</summary>" +
         table(examples) + "</details>\n<details><summary>Primitives that take no part in the chosen patch</summary>" +
         table(primitives) + "</details></section>\n";
}

}  // namespace

std::string report_page(const Network& network, const Plan& plan, const PlanReport& report, const SearchLog& log,
                        const std::vector<StrategyCurves>& curves, const std::string& next_better,
                        const PageOrigin& origin) {
  const std::string title = "Plan of " + network.name;
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         escaped(title) + "</title>\n" + style + "</head>\n<body>\n<h1>" + escaped(title) + "</h1>\n" +
         head_facts(plan, report, next_better, origin) + curves_html(curves, chosen_point(plan, report)) +
         layers_html(report) + timeline_html(report) + refusals_html(network, log) + "</body>\n</html>\n";
}

}  // namespace znni
