// Networks without weights as text (proto/network.proto).
#pragma once

#include <string>
#include <string_view>

#include "planner/network/network.hpp"

namespace znni {

// The network passes check(). The error names the node, or the line.
[[nodiscard]] Result<Network> parse_network(std::string_view text);

// parse_network() of it gives the same network.
[[nodiscard]] std::string network_text(const Network& network);

}  // namespace znni
