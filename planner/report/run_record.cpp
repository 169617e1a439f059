#include "planner/report/run_record.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace znni {
namespace {

constexpr double milliseconds = 1e-3;

Error not_a_run(const std::string& what) {
  return {ErrorCode::invalid_argument,
          what + ": expected the object that 'znni-bench net --json' or 'znni infer --json' prints"};
}

std::optional<double> positive(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return std::nullopt;
  const auto number = found->get<double>();
  return std::isfinite(number) && number > 0 ? std::optional(number) : std::nullopt;
}

std::optional<std::string> word(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? std::optional(found->get<std::string>()) : std::nullopt;
}

std::optional<Vec3> extent_of(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array() || found->size() != 3) return std::nullopt;
  const auto is_extent = [](const nlohmann::json& n) { return n.is_number_integer() && n.get<std::int64_t>() > 0; };
  if (!std::all_of(found->begin(), found->end(), is_extent)) return std::nullopt;
  return Vec3{(*found)[0].get<std::int64_t>(), (*found)[1].get<std::int64_t>(), (*found)[2].get<std::int64_t>()};
}

// Takes the median of the warm runs; of none the cold one.
std::optional<double> rate_of(const nlohmann::json& runs) {
  std::vector<double> warm;
  std::vector<double> cold;
  for (const nlohmann::json& run : runs) {
    if (!run.is_object()) return std::nullopt;
    const std::optional<double> rate = positive(run, "voxels_per_second");
    if (!rate) return std::nullopt;
    (word(run, "kind") == "warm" ? warm : cold).push_back(*rate);
  }
  std::vector<double>& taken = warm.empty() ? cold : warm;
  if (taken.empty()) return std::nullopt;
  const auto middle = taken.begin() + static_cast<std::ptrdiff_t>(taken.size() / 2);
  std::nth_element(taken.begin(), middle, taken.end());
  return *middle;
}

Result<std::vector<NodeRecord>> nodes_of(const nlohmann::json& bench) {
  const auto found = bench.find("nodes");
  if (found == bench.end() || !found->is_array()) return not_a_run("no array 'nodes'");
  std::vector<NodeRecord> nodes;
  for (const nlohmann::json& each : *found) {
    const std::optional<std::string> name = each.is_object() ? word(each, "name") : std::nullopt;
    const std::optional<std::string> primitive = name ? word(each, "primitive") : std::nullopt;
    if (!primitive) return not_a_run("a node without 'name' and 'primitive'");
    const std::optional<double> measured = positive(each, "measured_ms");
    if (measured) nodes.push_back({*name, *primitive, milliseconds * *measured});
  }
  return nodes;
}

Result<RunRecord> bench_run(const nlohmann::json& bench) {
  RunRecord run;
  run.label = "znni-bench net";
  run.network = word(bench, "network");
  if (!run.network) return not_a_run("no 'network'");
  run.patch = extent_of(bench, "patch");
  if (!run.patch) return not_a_run("no extents 'patch'");
  const std::optional<double> rate = rate_of(bench["runs"]);
  if (!rate) return not_a_run("no 'voxels_per_second' above 0 in 'runs'");
  run.voxels_per_second = *rate;
  const std::optional<double> seconds = positive(bench, "predicted_seconds");
  const std::optional<double> voxels = positive(bench, "voxels");
  if (seconds && voxels) run.predicted_voxels_per_second = *voxels / *seconds;
  Result<std::vector<NodeRecord>> nodes = nodes_of(bench);
  if (!nodes) return nodes.error();
  run.nodes = *std::move(nodes);
  return run;
}

Result<RunRecord> infer_run(const nlohmann::json& infer) {
  const std::optional<double> rate = positive(infer, "voxels_per_second");
  if (!rate) return not_a_run("no 'voxels_per_second' above 0, and no 'runs'");
  const std::optional<Vec3> extent = extent_of(infer, "extent");
  if (!extent) return not_a_run("no 'extent'");
  RunRecord run;
  run.label = "znni infer, " + to_string(*extent) + " voxels out";
  run.voxels_per_second = *rate;
  run.predicted_voxels_per_second = positive(infer, "predicted_voxels_per_second");
  return run;
}

}  // namespace

Result<RunRecord> parse_run(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return not_a_run("not JSON");
  if (!json.is_object()) return not_a_run("JSON, but no object");
  const auto runs = json.find("runs");
  return runs != json.end() && runs->is_array() ? bench_run(json) : infer_run(json);
}

Result<void> check_run(const RunRecord& run, const Plan& plan, const PlanReport& report) {
  if (run.network && *run.network != plan.key.network) {
    return Error{ErrorCode::invalid_argument,
                 "measured of network '" + *run.network + "'; the plan is of '" + plan.key.network + "'"};
  }
  const Vec3 patch = report.geometry.patch_input;
  if (run.patch && *run.patch != patch) {
    return Error{ErrorCode::invalid_argument, "measured in patches of " + to_string(*run.patch) +
                                                  "; the plan's are of " + to_string(patch) +
                                                  ": run the plan that --output writes"};
  }
  return {};
}

std::optional<Seconds> measured_seconds(const std::vector<RunRecord>& runs, const NodeReport& node) {
  const std::string& primitive = node.step->primitive.empty() ? node.step->reorder : node.step->primitive;
  for (const RunRecord& run : runs) {
    for (const NodeRecord& each : run.nodes) {
      if (each.name == node.name && each.primitive == primitive) return each.seconds;
    }
  }
  return std::nullopt;
}

}  // namespace znni
