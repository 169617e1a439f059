// The rungs of a plan before anything is reserved for them: on the CPU alone, or over CPU and GPU. It decides if steps,
// memory and places of a plan fit these devices. check() (planner/plan/plan.hpp) asks before a plan is taken, the
// engine when it opens one.
#pragma once

#include <optional>
#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/layers/divisions.hpp"
#include "planner/layers/segments.hpp"

namespace znni {

// The needs of a rung on the CPU.
struct RungDesign {
  SegmentDesign whole;  // of all nodes, in one micro-batch, input and output in its memory; the network's axes are
                        // swapped as in the geometry
  Packing packing;      // of the transient buffers; packing.bytes is what the shared block must have
};

// Designs a rung on the CPU. Fails with `unsupported` for segments that do not run on the CPU as a whole (other places,
// micro-batches, divisions).
[[nodiscard]] Result<RungDesign> design_rung(const Network& network, const Rung& rung, const Catalogue& catalogue,
                                             const DeviceSpec& spec);

struct LadderRung {
  std::optional<RungDesign> cpu;  // all of it on the CPU
  SpaceBytes split;               // else what its pipeline takes, by memory space
  bool split_streamed = false;    // what it keeps between the steps of a stream lies there
};

// Designs all rungs of `plan`. `gpu`: nullptr if there is none. Errors name the rung; they are `unsupported` if a rung
// needs a GPU that is absent, or is cut in a way that no engine runs.
[[nodiscard]] Result<std::vector<LadderRung>> design_rungs(const Network& network, const Plan& plan,
                                                           const Catalogue& catalogue, const DeviceSpec& cpu,
                                                           const DeviceSpec* gpu);
// Fails with invalid_argument, naming both numbers, unless plan.memory is what its rungs take together.
[[nodiscard]] Result<void> check_memory(const Network& network, const Plan& plan, const std::vector<LadderRung>& rungs);

// Returns the rungs of design_rungs() if check_memory() passes them.
[[nodiscard]] Result<std::vector<LadderRung>> design_ladder(const Network& network, const Plan& plan,
                                                            const Catalogue& catalogue, const DeviceSpec& cpu,
                                                            const DeviceSpec* gpu);

// Returns the plan's rungs on the CPU alone, which may be none, in the memory that the others leave.
[[nodiscard]] Plan without_gpu(const Plan& plan);

}  // namespace znni
