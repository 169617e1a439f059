// Networks from files, whatever their form: the one door for the programs.
#pragma once

#include <string>

#include "planner/graph_passes.hpp"

namespace znni {

// `model.onnx`, with what it keeps in files beside it, or `net.pbtxt` without weights; folded and fused, ready for
// planning. The error begins with the path.
[[nodiscard]] Result<LoadedNetwork> read_network_file(const std::string& path);

}  // namespace znni
