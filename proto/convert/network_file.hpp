// Reads a network from a file of any supported format; all programs use this function.
#pragma once

#include <string>

#include "planner/network/blockers.hpp"
#include "planner/network/graph_passes.hpp"
#include "proto/convert/base/network_reading.hpp"

namespace znni {

// Reads `model.onnx`, with the files beside it that it refers to; `net.prototxt`, of Caffe, with `net.caffemodel` or
// the file of numbers that is named; or `net.pbtxt`, which has no weights. Returns the network folded and fused, ready
// for planning. The error begins with the path. Fails with over_budget, before any weights are read, if those of an
// ONNX model take more than `reading` allows. Fails with invalid_argument if it names outputs that the file has not, or
// outputs of a .pbtxt. Reading needs little memory beside the weights. `blockers`, if given, gets all that a sound
// network is refused for; none if it is read.
[[nodiscard]] Result<LoadedNetwork> read_network_file(const std::string& path, const NetworkReading& reading = {},
                                                      Blockers* blockers = nullptr);
// Does the same for training, with the layers that `znni-train` has: scales are folded, and nothing is fused.
[[nodiscard]] Result<LoadedNetwork> read_network_to_train(const std::string& path, const NetworkReading& reading = {});

}  // namespace znni
