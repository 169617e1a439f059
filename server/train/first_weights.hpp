// The network that a training begins with, as its file has it: nothing is joined or fused.
#pragma once

#include <cstdint>
#include <string>

#include "planner/network/graph_edits.hpp"
#include "primitives/core/result.hpp"

namespace znni {

struct FirstNetwork {
  LoadedNetwork loaded;
  std::string note;  // one line: where the weights are from, and whether normalisations were folded
};

// Reads `model.onnx` with its weights, or `net.pbtxt`, which gets seeded normal kernels of variance 2 / terms (He et
// al. 2015), biases of 0, scales of 1 and shifts of 0. Batch normalisations, whose mean and variance are not trained,
// are folded into the convolutions beside them. Fails as read_network_file() does, and with unsupported if the network
// has several inputs or outputs. Every error begins with the path.
[[nodiscard]] Result<FirstNetwork> read_first_network(const std::string& path, std::uint64_t seed,
                                                      std::int64_t max_weight_bytes);

}  // namespace znni
