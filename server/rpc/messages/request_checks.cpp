#include "server/rpc/messages/request_checks.hpp"

#include <algorithm>
#include <optional>

#include "server/rpc/base/client_text.hpp"
#include "server/rpc/messages/datatypes.hpp"

namespace znni::rpc {
namespace {

using inference::ModelInferRequest;

Error wrong_request(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

// Returns the model's outputs, in its order.
std::vector<RequestedOutput> all_outputs(const ModelInfo& model) {
  std::vector<RequestedOutput> outputs;
  std::int64_t channel = 0;
  for (const NamedTensor& output : model.outputs) {
    outputs.push_back({output.name, channel, output.channels, {}});
    channel += output.channels;
  }
  return outputs;
}

bool overlap(const RegionRange& a, const RegionRange& b) {
  return a.region == b.region && a.offset < add(b.offset, b.bytes) && b.offset < add(a.offset, a.bytes);
}

// Fails if the last output does not go where the others do, or over one of them.
Result<void> check_last_place(const std::vector<RequestedOutput>& asked, const std::string& where) {
  const RequestedOutput& last = asked.back();
  if (last.region.has_value() != asked.front().region.has_value()) {
    return wrong_request(where +
                         ": some outputs go to shared memory, expected all or none of those that are requested");
  }
  for (const RequestedOutput& other : asked) {
    const bool meet = &other != &last && last.region && overlap(*last.region, *other.region);
    if (meet) return wrong_request(where + " goes to the same shared memory as " + in_quotes(other.name));
  }
  return {};
}

// Returns the outputs that are asked for: as named, or all.
Result<std::vector<RequestedOutput>> check_outputs(const ModelInferRequest& request, const ModelInfo& model) {
  const std::vector<RequestedOutput> all = all_outputs(model);
  if (request.outputs_size() == 0) return all;
  std::vector<RequestedOutput> asked;
  for (const auto& output : request.outputs()) {
    const std::string where = "model " + in_quotes(model.name) + ": requested output " + in_quotes(output.name());
    const auto is_it = [&](const RequestedOutput& known) { return known.name == output.name(); };
    const auto found = std::find_if(all.begin(), all.end(), is_it);
    if (found == all.end()) return wrong_request(where + ", expected " + names_of(model.outputs));
    if (std::any_of(asked.begin(), asked.end(), is_it)) return wrong_request(where + " found twice, expected once");
    Result<std::optional<RegionRange>> region = check_tensor_parameters(output.parameters(), where);
    if (!region) return region.error();
    asked.push_back(*found);
    asked.back().region = std::move(*region);
    if (const Result<void> placed = check_last_place(asked, where); !placed) return placed.error();
  }
  return asked;
}

}  // namespace

Result<void> check_version(std::string_view model, std::string_view version) {
  const bool digits = std::all_of(version.begin(), version.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (digits && version.size() < 19) return {};
  return wrong_request("model " + in_quotes(model) + ": version " + in_quotes(version) + " found, expected a number");
}

Result<InferRequest> check_infer_request(const ModelInferRequest& request, const ModelInfo& model) {
  const Result<RequestParameters> parameters = check_request_parameters(request.parameters());
  if (!parameters) return parameters.error().within("model " + in_quotes(model.name));
  if (const Result<void> exact = check_holds_numbers(parameters->output_type, model.largest_channel_number); !exact) {
    return exact.error().within("model " + in_quotes(model.name));
  }
  Result<GivenInputs> inputs = check_inputs(request, model);
  if (!inputs) return inputs.error();
  Result<std::vector<RequestedOutput>> outputs = check_outputs(request, model);
  if (!outputs) return outputs.error();
  return InferRequest{inputs->batch, inputs->volume, *parameters, std::move(inputs->inputs), *std::move(outputs)};
}

}  // namespace znni::rpc
