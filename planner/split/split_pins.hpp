// Pins of plans over several places: the cut that is pinned, and modes that run there.
#pragma once

#include "planner/split/split_plan.hpp"

namespace znni {

// Returns the cuts that `strategy` and the pins allow. Fails with invalid_argument, in one line that names the flag, in
// these cases: the net has no node of the pinned theta, more than one tensor is alive before it, or the strategy has no
// such cut. Requires check(network).
[[nodiscard]] Result<CutLimits> pinned_cuts(const Network& network, SplitStrategy strategy, const Pins& pins);

// Checks that no pinned pooling holds its input, which segments of several places cannot do.
[[nodiscard]] Result<void> check_split_modes(const Pins& pins);

}  // namespace znni
