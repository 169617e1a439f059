// Answers questions about the server and its models, for all protocols.
#pragma once

#include <string>

#include "proto/inference.pb.h"
#include "server/rpc/calls/front_door.hpp"

namespace znni::rpc {

// Returns the model; "" is its newest version. Fails with invalid_argument for a version that is not a number, else as
// ModelServer::find().
[[nodiscard]] Result<ModelInfo> find_model(const std::string& name, const std::string& version,
                                           const ModelServer& models);

// Returns true if a request for the model would be admitted now. Fails with not_found for one that the server does not
// know.
[[nodiscard]] Result<bool> is_model_ready(const FrontDoor& door, const std::string& name, const std::string& version);

[[nodiscard]] inference::ServerMetadataResponse server_metadata(const FrontDoor& door);
// Describes the model; the errors are those of find_model().
[[nodiscard]] Result<inference::ModelMetadataResponse> model_metadata(const FrontDoor& door, const std::string& name,
                                                                      const std::string& version);

}  // namespace znni::rpc
