// The patch of a step of training that trains most voxels in a second.
#pragma once

#include <string>

#include "planner/train/step_plan.hpp"

namespace znni {

struct StepPatch {
  StepPlan plan;
  int planned = 0;               // patches whose step was planned
  double voxels_per_second = 0;  // of the output that the loss compares, predicted
};

// Returns the fastest step of all cubes, or, along an axis that the network lacks, of one voxel. An edge that is not
// legal along an axis becomes the next one that is. Looked at are edges from the smallest on, each at least a sixteenth
// longer than the one before, until a step does not fit options.mem. So more memory never predicts fewer voxels in a
// second. Fails as plan_step() does for the smallest patch.
[[nodiscard]] Result<StepPatch> choose_step_patch(const Network& network, const StepOptions& options,
                                                  const StepParts& parts);

// Returns what was chosen and of how much: "patch 80x80x80: ... ".
[[nodiscard]] std::string to_string(const StepPatch& patch);

}  // namespace znni
