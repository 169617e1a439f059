// The memory of one pass through a segment, step after step: every tensor from its producer to its last
// reader, every scratch buffer in its own stages. An input that is held for later passes lives to the end; the
// histories of a streamed net live in all stages. The planner compares schedule.memory with the limit and the pipeline
// grants from the very same schedule.
#pragma once

#include <functional>
#include <vector>

#include "planner/plan/plan.hpp"

namespace znni {

// A call of PreparedLayer::run: a node's primitive, or the reorder of its output.
struct Call {
  int step = 0;  // index into the steps
  bool is_reorder = false;
  const Primitive* primitive = nullptr;
  LayerProblem problem;
  Estimate estimate;
  std::vector<int> inputs;     // tensors, indices into Schedule::tensors
  int output = 0;              // tensor
  int first_stage = 0;         // of the whole schedule
  std::vector<int> buffers;    // per buffer of estimate.memory: index into Schedule::memory
  bool reads_slab = false;     // of the input, the stem's own; inputs[0] is the whole
  bool writes_slab = false;    // of the stem's output; output is the whole
  int held = -1;               // index into Geometry::held of the pooling it runs: its view begins elsewhere each pass
  std::vector<Border> around;  // per input: voxels of the tensor around those that it reads
  const Primitive* reorder = nullptr;  // of the sub-layers of a divided layer
};

// A tensor of the pass: a value in one format.
struct ScheduledTensor {
  Shape5 shape;  // planes of earlier steps and margins included
  Format format;
  int buffer = 0;  // index into Schedule::memory
  Border around;   // voxels around those that its call writes: planes of earlier steps, and margins
};

// The planes that a tensor of a streamed net keeps from step to step: `runs` times its first planes, each dense in its
// format.
struct ScheduledHistory {
  int tensor = 0;
  int buffer = 0;  // index into Schedule::memory
  std::int64_t runs = 1;
};

struct Schedule {
  std::vector<Call> calls;
  std::vector<ScheduledTensor> tensors;  // [0] is the network's input, planar
  int output = 0;                        // tensor of the network's output, planar
  std::vector<ScheduledHistory> histories;
  int kernels = -1;   // index into memory of all kernels with axes swapped, node after node; -1: none are
  MemoryPlan memory;  // transient and persistent buffers of all calls, names made unique
};

// Returns the bytes that the buffers named in `histories` take.
[[nodiscard]] std::int64_t history_bytes(const Schedule& schedule);

// Returns the problem that `node` computes on a device of `kind`. On a GPU a convolution also says how many planes of
// earlier steps stand before those that it reads and writes; `reordered`: it does not write the value itself, which a
// reorder makes.
[[nodiscard]] LayerProblem problem_on(DeviceKind kind, const Network& network, const Geometry& geometry, int node,
                                      bool reordered = false);

// Returns the estimate of a divided step: its tensors in host memory, its sub-layers through a GPU
// (planner/layers/segments.hpp).
using DividedEstimate = std::function<Result<Estimate>(const Step& step, const LayerProblem& problem)>;

// Requires that the steps cover all nodes in order. The error names the step that no longer fits; a divided one does
// not, unless `divided` says what it costs.
[[nodiscard]] Result<Schedule> make_schedule(const Network& network, const Geometry& geometry,
                                             const std::vector<Step>& steps, const Catalogue& catalogue,
                                             const DeviceSpec& spec, const DividedEstimate& divided = {});

}  // namespace znni
