// A machine's devices (planner/costs/machine.hpp) as the places of segments: what the search of cuts needs, from a text
// file.
#pragma once

#include "planner/costs/machine.hpp"
#include "planner/layers/divisions.hpp"
#include "planner/layers/segments.hpp"

namespace znni {

struct MachinePlaces {
  PlaceSpecs specs;   // the GPU's with its memory and link
  SpaceBytes memory;  // of the whole machine
};

// Returns the CPU, the GPU and the links of a machine. The link to the GPU is the one from pinned or host memory to
// device memory. The one back is found likewise, or is the same if only one is given. Both directions at once are as
// fast as their sum. A link from host to pinned memory tells the rate of staging. The error says what the machine
// lacks: a CPU, a GPU, a link, memory on the GPU.
[[nodiscard]] Result<MachinePlaces> places_of(const Machine& machine);

}  // namespace znni
