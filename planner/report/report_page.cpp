#include "planner/report/report_page.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "planner/base/text_table.hpp"
#include "planner/plan/summary.hpp"
#include "planner/report/chart_json.hpp"
#include "planner/report/html.hpp"
#include "planner/report/page_parts.hpp"
#include "planner/report/report_charts.hpp"

namespace znni {
namespace {

constexpr std::size_t max_examples = 400;

using Rows = std::vector<TextRow>;

std::string fact(const char* name, const std::string& text) {
  return "<dt>" + std::string(name) + "</dt><dd>" + escaped(text) + "</dd>\n";
}

std::string origin_facts(const PageOrigin& origin) {
  return fact("Made", origin.date + " by planner " + origin.version) + "<dt>Command</dt><dd><code>" +
         escaped(origin.command) + "</code></dd>\n";
}

std::string head_facts(const ReportFacts& facts) {
  const Plan& plan = facts.plan;
  const PlanReport& report = facts.report;
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
  if (!facts.next_better.empty()) html += fact("The next better thing", facts.next_better);
  return html + fact("Device", plan.key.device) + origin_facts(facts.origin) + "</dl>\n";
}

// Makes room for charts that the script draws.
std::string figures(const std::vector<Chart>& charts) {
  std::string html;
  for (const Chart& chart : charts) {
    const auto [id, title] = std::visit([](const auto& own) { return std::pair(own.id, escaped(own.title)); }, chart);
    html += "<figure><figcaption>" + title + "</figcaption><div class=\"plot\"><canvas id=\"" + id +
            "\" role=\"img\" aria-label=\"" + title + "\"></canvas></div></figure>\n";
  }
  return html;
}

std::string begin_section(const char* id, const char* title) {
  return "<section id=\"" + std::string(id) + "\"><h2>" + title + "</h2>\n";
}

std::string folded(const char* title, const Rows& rows) {
  return "<details><summary>" + std::string(title) + "</summary>" + html_table(rows) + "</details>\n";
}

std::string measured_html(const ReportFacts& facts) {
  if (facts.measured.empty()) return "";
  Rows rows = {{"run", "predicted voxels/s", "measured voxels/s", "measured / predicted"}};
  for (const RunRecord& run : facts.measured) {
    const double predicted = predicted_rate(run, facts.plan);
    rows.push_back({run.label, count_text(predicted), count_text(run.voxels_per_second),
                    fixed_text(run.voxels_per_second / predicted, 3)});
  }
  return begin_section("measured", "Measured beside predicted") + figures(measured_charts(facts)) + html_table(rows) +
         "</section>\n";
}

std::string patches_html(const ReportFacts& facts) {
  return begin_section("patches", "The patches that were looked at") + figures(patch_charts(facts)) + "</section>\n";
}

TextRow curve_row(const std::string& strategy, const CurveSample& sample) {
  if (sample.voxels_per_second <= 0) return {strategy, bytes_text(sample.limit), "nothing fits"};
  return {strategy, bytes_text(sample.limit), count_text(sample.voxels_per_second), bytes_text(sample.bytes),
          to_string(sample.patch_input)};
}

std::string curves_html(const ReportFacts& facts) {
  if (facts.curves.empty()) return "";
  const TextRow head = {"strategy", "memory limit", "voxels/s", "takes", "patch"};
  Rows memory = {head};
  Rows size = {head};
  for (const StrategyCurves& own : facts.curves) {
    for (const CurveSample& sample : own.memory) memory.push_back(curve_row(own.strategy, sample));
    for (const CurveSample& sample : own.size) size.push_back(curve_row(own.strategy, sample));
  }
  return begin_section("curves", "What memory and patch size are worth") + figures(curve_charts(facts)) +
         folded("By memory", memory) + folded("By patch size", size) + "</section>\n";
}

Rows layer_rows(const PlanReport& report) {
  Rows rows = {
      {"layer", "writes", "primitive", "formats", "precision", "one run", "runs", "place", "basis", "keeps", "peak"}};
  for (const NodeReport& node : report.nodes) {
    const Step& step = *node.step;
    const std::string how = step.primitive + (step.reorder.empty() ? "" : " + " + step.reorder);
    rows.push_back({node.name, to_string(node.shape), how, layout_text(step.in) + " -> " + layout_text(step.out),
                    std::string(to_string(precision_of(step))), seconds_text(step.seconds), std::to_string(node.runs),
                    std::string(to_string(node.place)), std::string(to_string(step.basis)) + error_text(step.error),
                    bytes_text(node.persistent), bytes_text(node.peak)});
  }
  return rows;
}

// Leaves cells empty where a layer was not measured.
Rows measured_rows(const ReportFacts& facts) {
  Rows rows = {{"layer", "primitive", "predicted in a patch", "measured", "measured / predicted"}};
  for (const NodeReport& node : facts.report.nodes) {
    const Seconds predicted = seconds_in_patch(node);
    const std::optional<Seconds> measured = measured_seconds(facts.measured, node);
    const bool has_ratio = measured && predicted > 0;
    rows.push_back({node.name, node.step->primitive, seconds_text(predicted), measured ? seconds_text(*measured) : "",
                    has_ratio ? fixed_text(*measured / predicted, 3) : ""});
  }
  return rows;
}

std::string layers_html(const ReportFacts& facts) {
  return begin_section("layers", "Time and memory of every layer") + figures(layer_charts(facts)) +
         html_table(layer_rows(facts.report)) + (facts.measured.empty() ? "" : html_table(measured_rows(facts))) +
         "</section>\n";
}

std::string timeline_html(const ReportFacts& facts) {
  return begin_section("timeline", "The course of a pass") + figures(pass_charts(facts)) + "</section>\n";
}

// Returns why patches are out, without their numbers.
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
    const bool first_of_kind = ++kinds[reason_kind(candidate.refused)] <= max_examples / 8;
    if (!first_of_kind || examples.size() > max_examples) continue;
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
  return begin_section("refused", "What was refused") + "<p>" + std::to_string(log.candidates.size()) +
         " patches were looked at.</p>\n" + html_table(counts) + folded("Some of each", examples) +
         folded("Primitives that take no part in the chosen patch", primitives) + "</section>\n";
}

// Returns the charts in the order of the sections.
std::vector<Chart> all_charts(const ReportFacts& facts) {
  std::vector<Chart> all;
  for (const auto charts : {measured_charts, patch_charts, curve_charts, layer_charts, pass_charts}) {
    for (Chart& chart : charts(facts)) all.push_back(std::move(chart));
  }
  return all;
}

std::string head_html(const std::string& title) {
  return "<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
         "style-src 'unsafe-inline'\">\n<title>" +
         escaped(title) + "</title>\n<style>\n" + std::string(page_style) + "</style>\n</head>\n";
}

std::string scripts_html(const ReportFacts& facts) {
  return "<script type=\"application/json\" id=\"charts\">" + charts_json(all_charts(facts)) + "</script>\n<!--\n" +
         std::string(plot_licence) + "-->\n<script>" + std::string(plot_library) + "</script>\n<script>\n" +
         std::string(page_script) + "</script>\n";
}

}  // namespace

std::string report_page(const ReportFacts& facts) {
  const std::string title = "Plan of " + facts.network.name;
  return "<!DOCTYPE html>\n<html lang=\"en\">\n" + head_html(title) + "<body>\n<h1>" + escaped(title) + "</h1>\n" +
         "<noscript><p>Charts need JavaScript; the tables do not.</p></noscript>\n" + head_facts(facts) +
         measured_html(facts) + patches_html(facts) + curves_html(facts) + layers_html(facts) + timeline_html(facts) +
         refusals_html(facts.network, facts.log) + scripts_html(facts) + "</body>\n</html>\n";
}

}  // namespace znni
