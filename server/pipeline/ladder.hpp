// The rungs of a plan before anything is reserved for them: on the CPU alone, or over CPU and GPU.
#pragma once

#include <optional>
#include <vector>

#include "planner/layers/divisions.hpp"
#include "server/pipeline/prepared_rung.hpp"

namespace znni {

struct LadderRung {
  std::optional<RungDesign> cpu;  // all of it on the CPU
  SpaceBytes split;               // else what its pipeline takes, by memory space
  bool split_streamed = false;    // what it keeps between the steps of a stream lies there
};

// All rungs of `plan`, if plan.memory is what they take together. `gpu`: nullptr where there is none. Errors name the
// rung; invalid_argument names both numbers of memory; `unsupported` where a rung needs a GPU that is not there, or is
// cut as no engine runs it.
[[nodiscard]] Result<std::vector<LadderRung>> design_ladder(const Network& network, const Plan& plan,
                                                            const Catalogue& catalogue, const DeviceSpec& cpu,
                                                            const DeviceSpec* gpu);

// The plan's rungs on the CPU alone, which may be none, in the memory that the others leave.
[[nodiscard]] Plan without_gpu(const Plan& plan);

}  // namespace znni
