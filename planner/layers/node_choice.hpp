// Combines the nodes of one geometry, exactly up to a number of combinations. Finds the option of every node and the
// format of every edge that give the least time for each amount of memory. All readers of a value read it in one
// format.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "planner/base/stop_question.hpp"
#include "planner/geometry/geometry.hpp"
#include "planner/layers/layer_options.hpp"

namespace znni {

// Holds what the network alone determines of calls: how node i uses its inputs and what else is alive while it runs.
struct NetworkUse {
  std::vector<std::vector<int>> inputs;        // per node: values
  std::vector<std::vector<InputUse>> uses;     // per node
  std::vector<std::vector<int>> live_through;  // per node: values alive that it neither reads nor writes
  std::vector<std::vector<int>> read_on;       // per node: distinct inputs that later nodes read
  std::vector<std::vector<int>> live_after;    // per node: values alive after it, rising
  std::vector<std::vector<int>> readers;       // per value: nodes
};
// Returns when each value is in use. The inputs of the nodes `held` are alive to the end, the network's input to the
// end of a stem in slabs.
[[nodiscard]] NetworkUse network_use(const Network& network, const std::vector<int>& held = {}, int stem_last = -1);
// Returns the use of a geometry, with what each call leaves unread of its inputs' tensors. Both arguments are
// searched_in_pairs() if pairs leave out the values `absent`.
[[nodiscard]] NetworkUse network_use(const Network& network, const Geometry& geometry,
                                     const std::vector<bool>& absent = {});

// Returns the voxels along each axis that the tensor of `node` has beside those that its call writes. A stem in slabs
// fills a tensor that is counted beside it.
[[nodiscard]] Vec3 around_output(const Geometry& geometry, int node);

// Bounds that a combination must keep; bytes without the network's weights.
struct ChoiceLimits {
  std::int64_t total = saturated;  // persistent + transient
  std::int64_t persistent = saturated;
  std::int64_t transient = saturated;
  Seconds seconds = std::numeric_limits<double>::infinity();  // of all calls of a patch; must stay below
};

// The options of one geometry's nodes and what follows from them without combining.
struct GeometryOptions {
  std::vector<const LayerOptions*> nodes;
  Seconds min_seconds = 0;          // no combination runs a patch faster
  std::int64_t min_persistent = 0;  // or keeps less
  std::int64_t min_transient = 0;   // or needs less at its worst moment, histories aside
  std::int64_t min_histories = 0;   // or keeps less from step to step
  std::int64_t kernels = 0;         // every one keeps so much beside what its primitives keep
};

struct NodePick {
  const LayerOption* option = nullptr;
  const LayerOption* reorder = nullptr;  // of its output; nullptr for none
};

// A combination. Pointers are those of the table that combine() was given.
struct Assignment {
  Seconds seconds = 0;  // of all calls of a patch: each as often as it runs
  std::int64_t persistent = 0;
  std::int64_t transient = 0;                  // least packing: peak of the schedule in whole aligned buffers
  const LayerOption* input_reorder = nullptr;  // nullptr: the input is read planar, as it arrives
  std::vector<NodePick> nodes;
};

// Returns the bytes of the tensor of value `value` of the geometry in `format`, as packed.
[[nodiscard]] std::int64_t value_bytes(const Geometry& geometry, int value, Format format);

// Returns all combinations within the limits that no other beats in time, persistent and transient bytes together, by
// rising time. Equal arguments give equal answers. Returns none as soon as `stop` returns true: deep networks have
// many, and it is asked between any two of them. Networks of many branches have too many combinations to keep. Then
// `cut` becomes true. At each node only the fastest, the leanest and some between go on, in the formats that are
// fastest so far.
[[nodiscard]] std::vector<Assignment> combine(const NetworkUse& use, const Geometry& geometry,
                                              const GeometryOptions& options, OptionTable& table,
                                              const ChoiceLimits& limits, const StopQuestion& stop = StopQuestion({}),
                                              bool* cut = nullptr);

}  // namespace znni
