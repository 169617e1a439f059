#include "tests/bench/report.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "planner/base/text_table.hpp"

namespace znni::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr Seconds least = 1e-12;

double over_predicted(Seconds measured, Seconds predicted) { return measured / std::max(predicted, least); }
double rate(const NetTimes& times, Seconds seconds) { return times.voxels / std::max(seconds, least); }
std::string milliseconds(Seconds seconds) { return fixed_text(1e3 * seconds, 2); }

std::string head(const NetTimes& times) {
  return "network    " + times.network + (times.seeded_weights ? ", seeded random weights" : "") + "\npatch      " +
         to_string(times.patch) + ", S " + std::to_string(times.S) + ", " + std::to_string(times.passes) +
         (times.passes == 1 ? " pass" : " passes") +
         (times.steps == 1 ? "" : ", a step of a stream, mean of " + std::to_string(times.steps)) + "\nmemory     " +
         bytes_text(times.memory.total()) + ", touched in " + seconds_text(times.touched) + "\npredicted  " +
         rate_text(rate(times, times.predicted)) + " (" + std::string(to_string(times.basis)) + ")\n";
}

TextRow run_row(const NetTimes& times, const std::string& name, Seconds seconds) {
  return {name, fixed_text(seconds, 4), fixed_text(times.predicted, 4),
          fixed_text(over_predicted(seconds, times.predicted), 3), rate_text(rate(times, seconds))};
}

std::string runs(const NetTimes& times) {
  std::vector<TextRow> rows = {{"run", "seconds", "predicted", "ratio", "dense output"},
                               run_row(times, "cold", times.cold)};
  for (std::size_t i = 0; i < times.warm.size(); ++i) {
    rows.push_back(run_row(times, "warm " + std::to_string(i + 1), times.warm[i]));
  }
  return text_table(rows);
}

std::string nodes(const NetTimes& times) {
  std::vector<TextRow> rows = {{"node", "primitive", "predicted ms", "measured ms", "ratio", "basis"}};
  for (const NodeTimes& node : times.nodes) {
    rows.push_back({node.name, node.primitive, milliseconds(node.predicted), milliseconds(node.measured),
                    node.predicted > 0 ? fixed_text(over_predicted(node.measured, node.predicted), 3) : "",
                    std::string(to_string(node.basis))});
  }
  rows.push_back({"(reading, stitching)", "", "", milliseconds(times.rest), "", ""});
  return text_table(rows);
}

Json run_json(const NetTimes& times, const char* kind, Seconds seconds) {
  return {{"kind", kind},
          {"seconds", seconds},
          {"measured_over_predicted", over_predicted(seconds, times.predicted)},
          {"voxels_per_second", rate(times, seconds)}};
}

Json node_json(const NodeTimes& node) {
  return {{"node", node.node},
          {"name", node.name},
          {"problem", node.problem},
          {"primitive", node.primitive},
          {"basis", std::string(to_string(node.basis))},
          {"predicted_ms", 1e3 * node.predicted},
          {"error", node.error},
          {"measured_ms", 1e3 * node.measured}};
}

}  // namespace

std::string net_text(const NetTimes& times) {
  return head(times) + "\n" + runs(times) + "\nnodes, a whole patch, median of the warm runs\n" + nodes(times);
}

std::string net_json(const NetTimes& times) {
  Json all_runs = Json::array({run_json(times, "cold", times.cold)});
  for (std::size_t i = 0; i < times.warm.size(); ++i) {
    all_runs.push_back(run_json(times, "warm", times.warm[i]));
    all_runs.back()["processor_seconds"] = times.processor[i];
  }
  Json all_nodes = Json::array();
  for (const NodeTimes& node : times.nodes) all_nodes.push_back(node_json(node));
  const Json object = {{"network", times.network},
                       {"seeded_weights", times.seeded_weights},
                       {"patch", {times.patch.z, times.patch.y, times.patch.x}},
                       {"S", times.S},
                       {"passes", times.passes},
                       {"steps", times.steps},
                       {"bytes", times.memory.total()},
                       {"reserved_bytes", times.reserved_bytes},
                       {"basis", std::string(to_string(times.basis))},
                       {"predicted_seconds", times.predicted},
                       {"planned_seconds", times.planned.seconds},
                       {"planned_error", times.planned.error},
                       {"planned_voxels_per_second", times.planned.voxels_per_second},
                       {"voxels", times.voxels},
                       {"joules", times.joules ? Json(*times.joules) : Json()},
                       {"touch_seconds", times.touched},
                       {"runs", std::move(all_runs)},
                       {"nodes", std::move(all_nodes)},
                       {"rest_ms", 1e3 * times.rest}};
  return object.dump(2) + "\n";
}

}  // namespace znni::bench
