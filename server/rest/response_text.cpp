#include "server/rest/response_text.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

namespace znni::rest {
namespace {

using Json = nlohmann::ordered_json;
using Parameters = google::protobuf::Map<std::string, inference::InferParameter>;

// Returns the text. Names may come from folders and paths: bytes that are not UTF-8 become the replacement character.
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json shape_of(const google::protobuf::RepeatedField<std::int64_t>& shape) {
  Json json = Json::array();
  for (const std::int64_t extent : shape) json.push_back(extent);
  return json;
}

Json value_of(const inference::InferParameter& parameter) {
  using Kind = inference::InferParameter;
  switch (parameter.parameter_choice_case()) {
    case Kind::kBoolParam: return parameter.bool_param();
    case Kind::kInt64Param: return parameter.int64_param();
    case Kind::kStringParam: return parameter.string_param();
    case Kind::kDoubleParam: return parameter.double_param();
    case Kind::kUint64Param: return parameter.uint64_param();
    case Kind::PARAMETER_CHOICE_NOT_SET: break;
  }
  return nullptr;
}

Json object_of(const Parameters& parameters) {
  Json json = Json::object();
  for (const auto& [name, parameter] : parameters) json[name] = value_of(parameter);
  return json;
}

Json tensors_of(const google::protobuf::RepeatedPtrField<inference::ModelMetadataResponse::TensorMetadata>& tensors) {
  Json json = Json::array();
  for (const auto& tensor : tensors) {
    json.push_back({{"name", tensor.name()}, {"datatype", tensor.datatype()}, {"shape", shape_of(tensor.shape())}});
  }
  return json;
}

// Describes an output of which `voxel_bytes` stand behind the JSON, or 0.
Json output_of(const inference::ModelInferResponse::InferOutputTensor& output, std::size_t voxel_bytes) {
  Json json = {{"name", output.name()}, {"datatype", output.datatype()}, {"shape", shape_of(output.shape())}};
  Json parameters = object_of(output.parameters());
  if (voxel_bytes > 0) parameters["binary_data_size"] = voxel_bytes;
  if (!parameters.empty()) json["parameters"] = std::move(parameters);
  return json;
}

// Returns the text without its last bracket.
std::string begun(const Json& object) {
  std::string text = dump(object);
  text.pop_back();
  return text;
}

}  // namespace

std::string error_text(std::string_view message) { return dump({{"error", std::string(message)}}); }
std::string live_text() { return dump({{"live", true}}); }
std::string ready_text(bool ready) { return dump({{"ready", ready}}); }
std::string model_ready_text(std::string_view name, bool ready) {
  return dump({{"name", std::string(name)}, {"ready", ready}});
}

std::string to_text(const inference::ServerMetadataResponse& metadata) {
  Json extensions = Json::array();
  for (const std::string& extension : metadata.extensions()) extensions.push_back(extension);
  return dump({{"name", metadata.name()}, {"version", metadata.version()}, {"extensions", std::move(extensions)}});
}

std::string to_text(const inference::ModelMetadataResponse& metadata) {
  Json versions = Json::array();
  for (const std::string& version : metadata.versions()) versions.push_back(version);
  Json properties = Json::object();
  for (const auto& [name, value] : metadata.properties()) properties[name] = value;
  return dump({{"name", metadata.name()},
               {"versions", std::move(versions)},
               {"platform", metadata.platform()},
               {"inputs", tensors_of(metadata.inputs())},
               {"outputs", tensors_of(metadata.outputs())},
               {"properties", std::move(properties)}});
}

std::int64_t InferText::bytes() const {
  std::size_t bytes = head.size();
  for (const std::string& tail : tails) bytes += tail.size();
  return static_cast<std::int64_t>(bytes);
}

InferText infer_text(const inference::ModelInferResponse& response, bool binary) {
  Json json = {{"model_name", response.model_name()}, {"model_version", response.model_version()}};
  if (!response.id().empty()) json["id"] = response.id();
  if (!response.parameters().empty()) json["parameters"] = object_of(response.parameters());
  InferText text;
  text.head = begun(json) + R"(,"outputs":[)";
  for (int i = 0; i < response.outputs_size(); ++i) {
    const bool has_voxels = i < response.raw_output_contents_size();
    const bool numbers = has_voxels && !binary;
    const Json output =
        output_of(response.outputs(i), has_voxels && binary ? response.raw_output_contents(i).size() : 0);
    std::string& before = numbers && i > 0 ? text.tails.back() : text.head;
    if (i > 0) before += ",";
    before += numbers ? begun(output) + R"(,"data":[)" : dump(output);
    if (has_voxels) text.tails.emplace_back(numbers ? "]}" : "");
  }
  const bool ends_in_head = binary || text.tails.empty();
  (ends_in_head ? text.head : text.tails.back()) += "]}";
  return text;
}

}  // namespace znni::rest
