// Measurements of a run, as programs write them with --json, to be set beside what is predicted of a plan.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/report/report.hpp"

namespace znni {

// Has measured seconds of one node, of a whole patch.
struct NodeRecord {
  std::string name;
  std::string primitive;
  Seconds seconds = 0;
};

struct RunRecord {
  std::string label;  // "znni-bench net", "znni infer, 40x50x60 voxels out"
  double voxels_per_second = 0;
  std::optional<double> predicted_voxels_per_second;  // of this very run; nothing: it was not told
  std::optional<std::string> network;                 // these three are of znni-bench
  std::optional<Vec3> patch;
  std::vector<NodeRecord> nodes;
};

// Reads what `znni-bench net --json` or `znni infer --json` has printed; of several warm runs the median. The error
// says what is missing.
[[nodiscard]] Result<RunRecord> parse_run(std::string_view text);

// Requires that the run was of this plan, as far as it tells; the error names both.
[[nodiscard]] Result<void> check_run(const RunRecord& run, const Plan& plan, const PlanReport& report);

// Returns the measured seconds of a node in a whole patch; nothing where none were measured with its primitive.
[[nodiscard]] std::optional<Seconds> measured_seconds(const std::vector<RunRecord>& runs, const NodeReport& node);

}  // namespace znni
