// Networks with several inputs or outputs of one extent, to which coarser outputs are repeated. They are computed as
// one value, in which the channels of one input, or output, follow those of the other. So plans and volumes know a
// single tensor.
#pragma once

#include <string_view>
#include <vector>

#include "planner/network/network.hpp"

namespace znni {

// Returns the inputs, also if there is only one.
[[nodiscard]] std::vector<NamedTensor> named_inputs(const Network& network);
// Returns the outputs, also if there is only one, with all that their voxels are repeated. Requires check(network).
[[nodiscard]] std::vector<NamedTensor> named_outputs(const Network& network);

// Fails if a name, that of `what`, is empty or has control characters.
[[nodiscard]] Result<void> check_name(std::string_view what, std::string_view name);

// Fails if several inputs have no names, or equal ones, or if their channels are not those of the network's input.
[[nodiscard]] Result<void> check_inputs(const Network& network);
// Fails if several outputs have no names, or equal ones, or if their channels are not the `channels` of the
// last value.
[[nodiscard]] Result<void> check_outputs(const Network& network, std::int64_t channels);

}  // namespace znni
