#include "planner/network/quotients.hpp"

#include <algorithm>

#include "primitives/core/index.hpp"

namespace znni {

void mark_behind_quotients(Network& network) {
  std::vector<bool> behind = {false};  // per value
  for (Node& node : network.nodes) {
    const bool reads_quotient =
        std::any_of(node.inputs.begin(), node.inputs.end(), [&](int input) { return behind[index(input)]; });
    if (auto* conv = std::get_if<Convolution>(&node.operation)) conv->local = reads_quotient;
    behind.push_back(reads_quotient || std::holds_alternative<Divide>(node.operation));
  }
}

}  // namespace znni
