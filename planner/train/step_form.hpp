// In which form a step computes networks of max filters: poolings of stride 1, with dilated windows behind them.
#pragma once

#include "planner/network/network.hpp"

namespace znni {

// Returns the network with strides for dilations (planner/network/max_filters.hpp), which is computed by fragments,
// without dilations; the network itself if it has none of these, or if that form cannot be trained. Nodes, weights and
// output stay. Steps of both have the same losses and gradients. Requires check().
[[nodiscard]] Network pooled_form(const Network& network);

// Returns the pooled form if such a patch fits it, or if training is sparse, for which poolings must have strides; else
// the network itself. Requires check().
[[nodiscard]] Network step_form(const Network& network, Vec3 patch, bool sparse);

}  // namespace znni
