// The vectors of a node's weights, for code that treats all of them alike.
#pragma once

#include <array>

#include "planner/network/network.hpp"

namespace znni {

inline constexpr std::array weight_parts = {&NodeWeights::kernels, &NodeWeights::bias, &NodeWeights::scale,
                                            &NodeWeights::shift};

}  // namespace znni
