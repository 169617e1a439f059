// Pins of plans over several places: the cut that is pinned, and modes that run there.
#pragma once

#include "planner/split/split_plan.hpp"

namespace znni {

// The cuts that `strategy` and the pins allow. invalid_argument, in one line that names the flag, where the net has no
// node of the pinned theta, where more than one tensor is alive before it, or where the strategy has no such cut.
// Requires check(network).
[[nodiscard]] Result<CutLimits> pinned_cuts(const Network& network, SplitStrategy strategy, const Pins& pins);

// Checks that no pinned pooling holds its input, which segments of several places cannot do.
[[nodiscard]] Result<void> check_split_modes(const Pins& pins);

}  // namespace znni
