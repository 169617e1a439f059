// Networks from files, whatever their form: the one door for the programs.
#pragma once

#include <cstdint>
#include <string>

#include "planner/network/graph_passes.hpp"

namespace znni {

// `model.onnx`, with what it keeps in files beside it, or `net.pbtxt` without weights; folded and fused, ready for
// planning. The error begins with the path. over_budget, before they are read, where the weights of an ONNX model take
// more than `most_weight_bytes` as float32; reading takes little beside them.
[[nodiscard]] Result<LoadedNetwork> read_network_file(const std::string& path,
                                                      std::int64_t most_weight_bytes = saturated);

}  // namespace znni
