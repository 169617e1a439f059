#include "server/rpc/messages/request_checks.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "server/rpc/base/client_text.hpp"
#include "server/rpc/messages/datatypes.hpp"

namespace znni::rpc {
namespace {

using inference::InferTensorContents;
using inference::ModelInferRequest;
using InputTensor = ModelInferRequest::InferInputTensor;

Error invalid(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

std::string shape_text(const google::protobuf::RepeatedField<std::int64_t>& shape) {
  std::string text = "[";
  for (int i = 0; i < std::min(shape.size(), 8); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(shape[i]);
  }
  text += shape.size() > 8 ? ",...]" : "]";
  return text;
}

std::string expected_shape(const ModelInfo& model) {
  constexpr std::array<std::string_view, 3> axes = {",X]", ",Y,X]", ",Z,Y,X]"};
  return "[N," + std::to_string(model.f_in) + std::string(axes[static_cast<std::size_t>(model.spatial_rank) - 1]);
}

std::string input_of(const ModelInfo& model) {
  return "model " + in_quotes(model.name) + ", input " + in_quotes(model.input_name);
}

// The one input the model has.
Result<const InputTensor*> only_input(const ModelInferRequest& request, const ModelInfo& model) {
  if (request.inputs_size() != 1) {
    return invalid("model " + in_quotes(model.name) + ": " + std::to_string(request.inputs_size()) +
                   " inputs found, expected one, " + in_quotes(model.input_name));
  }
  const InputTensor& input = request.inputs(0);
  if (input.name() != model.input_name) {
    return invalid("model " + in_quotes(model.name) + ": input " + in_quotes(input.name()) + " found, expected " +
                   in_quotes(model.input_name));
  }
  return &input;
}

// N and the volume of one job.
Result<InferRequest> check_shape_of(const InputTensor& input, const ModelInfo& model) {
  const int rank = model.spatial_rank + 2;
  const auto& shape = input.shape();
  const std::string found = input_of(model) + ": shape " + shape_text(shape) + " found, expected ";
  if (shape.size() != rank) return invalid(found + std::to_string(rank) + " dimensions, " + expected_shape(model));
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 1; })) {
    return invalid(found + "every dimension at least 1");
  }
  if (shape[1] != model.f_in) return invalid(found + expected_shape(model));
  InferRequest checked;
  checked.batch = shape[0];
  checked.volume.f = shape[1];
  checked.volume.n = Vec3::cube(1);
  for (int axis = 2; axis < rank; ++axis) checked.volume.n[axis + 3 - rank] = shape[axis];
  if (const Result<void> legal = check_shape({shape[0], shape[1], checked.volume.n}); !legal) {
    return legal.error().within(input_of(model));
  }
  return checked;
}

// The typed fields that are in use; -1 elements if none is.
struct TypedData {
  std::string_view field;
  std::int64_t elements = 0;
  int fields = 0;
};

TypedData typed_data(const InferTensorContents& contents) {
  TypedData data;
  const auto note = [&data](std::string_view field, int elements) {
    if (elements == 0) return;
    data = {field, elements, data.fields + 1};
  };
  note("bool_contents", contents.bool_contents_size());
  note("int_contents", contents.int_contents_size());
  note("int64_contents", contents.int64_contents_size());
  note("uint_contents", contents.uint_contents_size());
  note("uint64_contents", contents.uint64_contents_size());
  note("fp32_contents", contents.fp32_contents_size());
  note("fp64_contents", contents.fp64_contents_size());
  note("bytes_contents", contents.bytes_contents_size());
  return data;
}

std::string_view typed_field(ElementType type) {
  switch (type) {
    case ElementType::f32: return "fp32_contents";
    case ElementType::u8:
    case ElementType::u16: return "uint_contents";
    case ElementType::f16:
    case ElementType::bf16: return "";
  }
  return "";
}

Result<void> check_typed(const InputTensor& input, std::int64_t count, ElementType type, const ModelInfo& model) {
  const TypedData data = typed_data(input.contents());
  const std::string_view field = typed_field(type);
  const std::string where = input_of(model) + ": ";
  if (data.fields == 0) return invalid(where + "no data found, expected raw_input_contents");
  if (field.empty()) return invalid(where + "FP16 travels in raw_input_contents only");
  if (data.fields > 1 || data.field != field) {
    return invalid(where + std::string(data.field) + " found, expected " + std::string(field) + " only for datatype " +
                   std::string(datatype(type)));
  }
  if (data.elements != count) {
    return invalid(where + std::to_string(data.elements) + " elements found, expected " + std::to_string(count) +
                   " for shape " + shape_text(input.shape()));
  }
  return {};
}

// An input in shared memory has no raw contents.
Result<void> check_region(const ModelInferRequest& request, std::int64_t expected, const RegionRange& region,
                          const std::string& where) {
  if (request.raw_input_contents_size() > 0 || typed_data(request.inputs(0).contents()).fields != 0) {
    return invalid(where + "both a shared memory region and contents found, expected one of them");
  }
  if (region.bytes == expected) return {};
  return invalid(where + std::to_string(region.bytes) + " bytes in shared memory found, expected " +
                 std::to_string(expected) + " for shape " + shape_text(request.inputs(0).shape()));
}

Result<void> check_data(const ModelInferRequest& request, const InferRequest& checked, const ModelInfo& model) {
  const InputTensor& input = request.inputs(0);
  const ElementType type = checked.volume.type;
  const std::int64_t count = mul(checked.batch, mul(checked.volume.f, voxels(checked.volume.n)));
  const std::string where = input_of(model) + ": ";
  if (checked.input_region) return check_region(request, mul(count, element_bytes(type)), *checked.input_region, where);
  if (request.raw_input_contents_size() == 0) return check_typed(input, count, type, model);
  if (typed_data(input.contents()).fields != 0) {
    return invalid(where + "both raw_input_contents and contents found, expected one of them");
  }
  if (request.raw_input_contents_size() != 1) {
    return invalid(where + std::to_string(request.raw_input_contents_size()) + " raw_input_contents found, expected 1");
  }
  const auto found = static_cast<std::int64_t>(request.raw_input_contents(0).size());
  const std::int64_t expected = mul(count, element_bytes(type));
  if (found == expected) return {};
  return invalid(where + std::to_string(found) + " bytes found, expected " + std::to_string(expected) + " for shape " +
                 shape_text(input.shape()) + " of " + std::string(datatype(type)));
}

// Returns the model's outputs, in its order.
std::vector<RequestedOutput> all_outputs(const ModelInfo& model) {
  std::vector<RequestedOutput> outputs;
  std::int64_t channel = 0;
  for (const NamedOutput& output : model.outputs) {
    outputs.push_back({output.name, channel, output.channels, {}});
    channel += output.channels;
  }
  return outputs;
}

std::string names_of(const ModelInfo& model) {
  constexpr std::size_t most = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(most, model.outputs.size()); ++i) {
    names += (i == 0 ? "" : " or ") + in_quotes(model.outputs[i].name);
  }
  return model.outputs.size() > most ? names + " or another" : names;
}

bool overlap(const RegionRange& a, const RegionRange& b) {
  return a.region == b.region && a.offset < add(b.offset, b.bytes) && b.offset < add(a.offset, a.bytes);
}

// Fails if the last output does not go where the others do, or over one of them.
Result<void> check_last_place(const std::vector<RequestedOutput>& asked, const std::string& where) {
  const RequestedOutput& last = asked.back();
  if (last.region.has_value() != asked.front().region.has_value()) {
    return invalid(where + ": some outputs go to shared memory, expected all or none of those that are requested");
  }
  for (const RequestedOutput& other : asked) {
    const bool meet = &other != &last && last.region && overlap(*last.region, *other.region);
    if (meet) return invalid(where + " goes to the same shared memory as " + in_quotes(other.name));
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
    if (found == all.end()) return invalid(where + ", expected " + names_of(model));
    if (std::any_of(asked.begin(), asked.end(), is_it)) return invalid(where + " found twice, expected once");
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
  return invalid("model " + in_quotes(model) + ": version " + in_quotes(version) + " found, expected a number");
}

Result<InferRequest> check_infer_request(const ModelInferRequest& request, const ModelInfo& model) {
  const Result<RequestParameters> parameters = check_request_parameters(request.parameters());
  if (!parameters) return parameters.error().within("model " + in_quotes(model.name));
  const Result<const InputTensor*> input = only_input(request, model);
  if (!input) return input.error();
  Result<std::optional<RegionRange>> region = check_tensor_parameters((*input)->parameters(), input_of(model));
  if (!region) return region.error();
  const std::optional<ElementType> type = element_type((*input)->datatype());
  if (!type) {
    return invalid(input_of(model) + ": datatype " + in_quotes((*input)->datatype()) + " found, expected " +
                   std::string(input_datatypes));
  }
  Result<InferRequest> checked = check_shape_of(**input, model);
  if (!checked) return checked;
  checked->volume.type = *type;
  checked->parameters = *parameters;
  checked->input_region = std::move(*region);
  if (const Result<void> legal = check_data(request, *checked, model); !legal) return legal.error();
  Result<std::vector<RequestedOutput>> outputs = check_outputs(request, model);
  if (!outputs) return outputs.error();
  checked->outputs = *std::move(outputs);
  return checked;
}

}  // namespace znni::rpc
