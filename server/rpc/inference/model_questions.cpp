#include "server/rpc/inference/model_questions.hpp"

#include <algorithm>
#include <vector>

#include "server/rpc/messages/model_description.hpp"
#include "server/rpc/messages/request_checks.hpp"

namespace znni::rpc {
namespace {

std::vector<std::string> versions_of(const std::string& name, const ModelServer& models) {
  std::vector<std::string> versions;
  for (const ModelInfo& model : models.models()) {
    if (model.name == name) versions.push_back(model.version);
  }
  return versions;
}

// Returns true if the server has such a model, ready or not.
bool is_known(const std::string& name, const std::string& version, const ModelServer& models) {
  const std::vector<std::string> versions = versions_of(name, models);
  return version.empty() ? !versions.empty() : std::find(versions.begin(), versions.end(), version) != versions.end();
}

}  // namespace

Result<ModelInfo> find_model(const std::string& name, const std::string& version, const ModelServer& models) {
  if (const Result<void> legal = check_version(name, version); !legal) return legal.error();
  return models.find(name, version);
}

Result<bool> is_model_ready(const FrontDoor& door, const std::string& name, const std::string& version) {
  const Result<ModelInfo> model = find_model(name, version, door.models);
  if (!model && !is_known(name, version, door.models)) return model.error();
  return model && model->state == ModelState::ready && !door.retired;
}

inference::ServerMetadataResponse server_metadata(const FrontDoor& door) {
  inference::ServerMetadataResponse response;
  response.set_name("znni");
  response.set_version(door.limits.server_version);
  for (const char* extension : {"model_configuration", "statistics", "parameters", "binary_tensor_data"}) {
    response.add_extensions(extension);
  }
  if (door.limits.offer_shared_memory) response.add_extensions("system_shared_memory");
  if (door.limits.model_control) response.add_extensions("model_repository");
  return response;
}

Result<inference::ModelMetadataResponse> model_metadata(const FrontDoor& door, const std::string& name,
                                                        const std::string& version) {
  const Result<ModelInfo> model = find_model(name, version, door.models);
  if (!model) return model.error();
  return describe_metadata(*model, versions_of(model->name, door.models), door.limits.wire);
}

}  // namespace znni::rpc
