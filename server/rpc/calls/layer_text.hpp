// Writes the time of a job by layer, all sockets together, for the record of its call.
#pragma once

#include <string>

#include "server/jobs/model_server.hpp"

namespace znni::rpc {

// Returns "conv1 0.812 pool1 0.0311": the seconds of each layer that took any, in the order of the network, four digits
// each; an "input" before them is its reorder. "" if nothing is known of them.
[[nodiscard]] std::string layer_text(const ModelInfo& model, const StageSeconds& stages);

}  // namespace znni::rpc
