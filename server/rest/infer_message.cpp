#include "server/rest/infer_message.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "primitives/core/shape.hpp"
#include "server/rest/request_text.hpp"
#include "server/rest/tensor_text.hpp"
#include "server/rpc/base/client_text.hpp"
#include "server/rpc/messages/datatypes.hpp"

namespace znni::rest {
namespace {

using inference::ModelInferRequest;
using InputTensor = ModelInferRequest::InferInputTensor;

Error invalid_message(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

std::string named(const InputTensor& input) { return "input " + rpc::in_quotes(input.name()); }

// Checks that all bytes behind the JSON belong to inputs.
Result<void> check_binary(const RequestText& text, std::int64_t found) {
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < text.inputs.size(); ++i) {
    const InputPlace& place = text.inputs[i];
    if (place.has_data && place.binary_bytes) {
      return invalid_message(named(text.message.inputs(static_cast<int>(i))) +
                             ": both data and binary_data_size found, expected "
                             "one of them");
    }
    expected = add(expected, place.binary_bytes.value_or(0));
  }
  if (expected == found) return {};
  return invalid_message(std::to_string(found) + " bytes found behind the JSON, expected " + std::to_string(expected) +
                         ": binary_data_size of all inputs; Inference-Header-Content-Length is the length of the JSON");
}

// Returns how many values the shape has; 0 if an extent is below 1, saturated.
std::int64_t values_of(const InputTensor& input) {
  return std::accumulate(
      input.shape().begin(), input.shape().end(), std::int64_t{1},
      [](std::int64_t product, std::int64_t extent) { return extent < 1 ? 0 : mul(product, extent); });
}

// Reads the numbers of an input, which take `room` bytes at most. Returns nothing for a type that no model takes: the
// checks of the request refuse it.
Result<std::optional<std::string>> read_data(const InputTensor& input, const InputPlace& place, std::string_view json,
                                             std::int64_t room, std::int64_t max_voxel_bytes) {
  const std::optional<ElementType> type = rpc::element_type(input.datatype());
  if (!type) return std::optional<std::string>();
  if (!has_text(*type)) {
    return invalid_message(named(input) + ": numbers found, expected binary data: " + input.datatype() +
                           " has no other form");
  }
  if (place.values != values_of(input)) {
    return invalid_message(named(input) + ": " + std::to_string(place.values) + " values found, expected " +
                           std::to_string(values_of(input)) + " for its shape");
  }
  const std::int64_t bytes = mul(place.values, element_bytes(*type));
  if (bytes > room) {
    const std::int64_t found = add(bytes, max_voxel_bytes - room);  // with the inputs before
    return Error{ErrorCode::over_budget, named(input) + ": " + std::to_string(found) +
                                             " bytes of voxels found, at most " + std::to_string(max_voxel_bytes) +
                                             " are taken in one request"};
  }
  Result<std::string> voxels = read_numbers(json.substr(place.begin, place.end - place.begin), *type, place.values);
  if (!voxels) return voxels.error().within(named(input));
  return std::optional<std::string>(*std::move(voxels));
}

// Cuts the bytes behind the JSON into those of each input. It does not copy those of only one input.
std::vector<std::string> cut_binary(const RequestText& text, std::string binary) {
  std::vector<std::string> parts(text.inputs.size());
  if (parts.size() == 1) {
    parts.front() = std::move(binary);
    return parts;
  }
  std::size_t begin = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(text.inputs[i].binary_bytes.value_or(0));
    parts[i] = binary.substr(begin, bytes);
    begin += bytes;
  }
  return parts;
}

// Fails if some inputs have voxels in the body, and another has none and is not in shared memory.
Result<void> check_complete(const RequestText& text) {
  const auto has_voxels = [](const InputPlace& place) { return place.binary_bytes || place.has_data; };
  if (std::none_of(text.inputs.begin(), text.inputs.end(), has_voxels)) return {};
  for (std::size_t i = 0; i < text.inputs.size(); ++i) {
    const InputTensor& input = text.message.inputs(static_cast<int>(i));
    if (has_voxels(text.inputs[i]) || input.parameters().contains("shared_memory_region")) continue;
    return invalid_message(named(input) + ": no data found, expected data or binary_data_size");
  }
  return {};
}

// Adds the voxels of all inputs, in their order.
Result<void> add_voxels(RequestText& text, InferBody& body, std::int64_t max_voxel_bytes) {
  if (const Result<void> complete = check_complete(text); !complete) return complete;
  std::vector<std::string> binary = cut_binary(text, std::move(body.binary));
  std::int64_t room = max_voxel_bytes;
  for (std::size_t i = 0; i < text.inputs.size(); ++i) {
    const InputPlace& place = text.inputs[i];
    if (place.binary_bytes) *text.message.add_raw_input_contents() = std::move(binary[i]);
    if (!place.has_data) continue;
    const InputTensor& input = text.message.inputs(static_cast<int>(i));
    Result<std::optional<std::string>> voxels = read_data(input, place, body.json, room, max_voxel_bytes);
    if (!voxels) return voxels.error();
    if (!*voxels) continue;
    room -= static_cast<std::int64_t>((*voxels)->size());
    *text.message.add_raw_input_contents() = **std::move(voxels);
  }
  return {};
}

// Returns whether the voxels of all outputs are wanted as binary data. Fails if those of some are.
Result<bool> wants_binary(const RequestText& text) {
  if (text.outputs_binary.empty()) return text.binary_output;
  const bool first = text.outputs_binary.front().value_or(text.binary_output);
  for (const std::optional<bool>& binary : text.outputs_binary) {
    if (binary.value_or(text.binary_output) == first) continue;
    return invalid_message("binary_data is true for some outputs and false for others; one for all is right");
  }
  return first;
}

Result<void> check_output(const ModelInferRequest& request, bool binary) {
  const auto type = request.parameters().find("output_datatype");
  if (binary || type == request.parameters().end()) return {};
  const std::optional<ElementType> element = rpc::element_type(type->second.string_param());
  if (!element || has_text(*element)) return {};
  return invalid_message("output_datatype is " + type->second.string_param() +
                         ", which is sent as binary data alone: add the "
                         "parameter binary_data_output");
}

}  // namespace

Result<InferMessage> make_infer_message(InferBody body, std::int64_t max_voxel_bytes) {
  Result<RequestText> text = read_request_text(body.json);
  if (!text) return text.error();
  const Result<void> whole = check_binary(*text, static_cast<std::int64_t>(body.binary.size()));
  if (!whole) return whole.error();
  InferMessage message;
  const Result<bool> binary = wants_binary(*text);
  if (!binary) return binary.error();
  message.binary_output = *binary;
  const Result<void> sendable = check_output(text->message, message.binary_output);
  if (!sendable) return sendable.error();
  const Result<void> added = add_voxels(*text, body, max_voxel_bytes);
  if (!added) return added.error();
  message.request = std::make_unique<ModelInferRequest>(std::move(text->message));
  return message;
}

}  // namespace znni::rest
