// Outputs whose voxels are numbers of channels, which an arg max over channels writes.
#pragma once

#include <cstdint>

#include "planner/network/network.hpp"

namespace znni {

// Returns the largest number of a channel that an output of the network may hold: of what an arg max writes, and what
// copies, joins or upsamples it. 0 if no output holds any, or only zeros.
[[nodiscard]] std::int64_t largest_channel_number(const Network& network);

// Returns the first node that writes numbers of channels; nullptr if there is none.
[[nodiscard]] const Node* find_arg_max(const Network& network);

}  // namespace znni
