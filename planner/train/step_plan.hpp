// The plan of one step of training: every call of forward and backward, and where each buffer lies, within a limit of
// host RAM. It trains densely: poolings make all fragments of one patch. So the loss has a voxel of the output for each
// voxel of the patch but those of the border. Sparse training keeps the first offset of each pooling. A network that
// pads takes each patch for a whole volume, and pads it as it pads that.
//
// What a gradient reads of the forward run is kept for it. If the fastest step does not fit, some of it may be computed
// a second time instead (recompute.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/train/step_search.hpp"

namespace znni {

struct StepOptions {
  std::int64_t mem = 0;  // bytes of host RAM for all that StepMemory counts
  bool sparse = false;
};

// Bytes of host RAM that a step takes. What a trainer holds besides, such as its optimiser's state, is not counted.
struct StepMemory {
  std::int64_t weights = 0;    // the caller's
  std::int64_t gradients = 0;  // of the weights; the caller's
  std::int64_t step = 0;       // tensors and scratch, packed
  [[nodiscard]] std::int64_t total() const { return znni::add(znni::add(weights, gradients), step); }
  bool operator==(const StepMemory&) const = default;
};

struct StepPlan {
  std::vector<std::string> nodes;  // describe(network)
  std::vector<std::string> names;  // of the nodes
  DeviceSpec device;               // a device of fewer threads runs the step, too, with equal results
  Geometry geometry;               // of one patch; the first of its passes
  Shape5 input;                    // of the patch: S = 1
  Vec3 input_begin;                // where it begins in tensor 0, which has zeros around it if the network pads
  Shape5 output;                   // of the loss: S = 1, dense unless the step is sparse
  std::vector<StepCall> calls;
  std::vector<PlacedTensor> tensors;  // [0] is the input with its padding, planar
  MemoryPlan memory;                  // transient: the step's; persistent: weights and their gradients
  Packing packing;                    // of the former
  StepMemory bytes;
  Seconds seconds = 0;  // predicted, without the loss
};

// Fails unless the patch is legal along each axis; the error names the nearest extents that are. A patch is a volume,
// which must have the voxels that the network reflects.
[[nodiscard]] Result<void> check_step_patch(const Network& network, Vec3 patch, bool sparse);

// Returns the fastest plan found (StepSearch) for one patch of `patch` voxels of the input. More memory never predicts
// a slower step. The tables of `parts` must outlive the plan. Fails if the network cannot be trained
// (check_trainable()), the patch does not fit its poolings, or the smallest step takes more than options.mem: the error
// has both numbers.
[[nodiscard]] Result<StepPlan> plan_step(const Network& network, Vec3 patch, const StepOptions& options,
                                         const StepParts& parts);

// Returns a line for each call, in aligned columns below a head: pass, node, what it computes, primitive, predicted
// milliseconds, MiB alive; then a line of what is kept for the backward run, and one of the whole step.
[[nodiscard]] std::vector<std::string> describe(const StepPlan& plan);

}  // namespace znni
