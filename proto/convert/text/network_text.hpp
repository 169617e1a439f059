// Networks without weights as text (proto/network.proto).
#pragma once

#include <string>
#include <string_view>

#include "planner/network/network.hpp"

namespace znni {

// Returns a network that passes check(). The error names the node or the line.
[[nodiscard]] Result<Network> parse_network(std::string_view text);

// Returns the text from which parse_network() makes the same network.
[[nodiscard]] std::string network_text(const Network& network);

}  // namespace znni
