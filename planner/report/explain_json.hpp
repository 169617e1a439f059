// Plans as JSON for programs: `planner --json`.
#pragma once

#include <string>

#include "planner/report/report.hpp"

namespace znni {

// Returns one object: model, input and output [S, f, z, y, x] of a patch, theta (null: no hand-off between devices),
// passes, rounding_reach ([z, y, x] in voxels of the input, beside the field of view:
// planner/geometry/rounding_reach.hpp), ladder, nodes (index, name, place, primitive, variant, pooling mode ("mpf",
// "plain") and groups, formats, division, predicted seconds, spread, bytes, basis, error); segments (nodes, place,
// micro_batch), predicted (volume: null for an endless one, whose voxels per second stand beside), memory (per space:
// persistent, transient, peak bytes), machine, gpu (null without one). Two blanks of indent, a line's end at the end.
[[nodiscard]] std::string explain_json(const Plan& plan, const PlanReport& report, const DeviceSpec& spec,
                                       const DeviceSpec* gpu = nullptr);

}  // namespace znni
