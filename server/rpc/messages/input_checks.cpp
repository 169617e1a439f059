#include "server/rpc/messages/input_checks.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "server/rpc/base/client_text.hpp"
#include "server/rpc/messages/datatypes.hpp"
#include "server/rpc/messages/request_parameters.hpp"

namespace znni::rpc {
namespace {

using inference::InferTensorContents;
using inference::ModelInferRequest;
using InputTensor = ModelInferRequest::InferInputTensor;

Error wrong_input(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

std::string shape_text(const google::protobuf::RepeatedField<std::int64_t>& shape) {
  std::string text = "[";
  for (int i = 0; i < std::min(shape.size(), 8); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(shape[i]);
  }
  text += shape.size() > 8 ? ",...]" : "]";
  return text;
}

std::string expected_shape(const ModelInfo& model, std::int64_t channels) {
  constexpr std::array<std::string_view, 3> axes = {",X]", ",Y,X]", ",Z,Y,X]"};
  return "[N," + std::to_string(channels) + std::string(axes[static_cast<std::size_t>(model.spatial_rank) - 1]);
}

// Returns how an error begins that is about this input.
std::string named(const ModelInfo& model, const GivenInput& input) {
  return "model " + in_quotes(model.name) + ", input " + in_quotes(input.name);
}

// Returns the model's inputs, in its order.
std::vector<GivenInput> all_inputs(const ModelInfo& model) {
  std::vector<GivenInput> inputs;
  std::int64_t channel = 0;
  for (const NamedTensor& input : model.inputs) {
    inputs.push_back({input.name, channel, input.channels, -1, -1, {}});
    channel += input.channels;
  }
  return inputs;
}

// Returns the model's inputs with their tensors. Fails unless each is there once, and no other.
Result<std::vector<GivenInput>> find_inputs(const ModelInferRequest& request, const ModelInfo& model) {
  const std::string where = "model " + in_quotes(model.name) + ": ";
  if (model.inputs.size() == 1 && request.inputs_size() != 1) {
    return wrong_input(where + std::to_string(request.inputs_size()) + " inputs found, expected one, " +
                       names_of(model.inputs));
  }
  std::vector<GivenInput> inputs = all_inputs(model);
  for (int i = 0; i < request.inputs_size(); ++i) {
    const std::string& name = request.inputs(i).name();
    const auto found =
        std::find_if(inputs.begin(), inputs.end(), [&](const GivenInput& known) { return known.name == name; });
    if (found == inputs.end()) {
      return wrong_input(where + "input " + in_quotes(name) + " found, expected " + names_of(model.inputs));
    }
    if (found->tensor >= 0) return wrong_input(where + "input " + in_quotes(name) + " found twice, expected once");
    found->tensor = i;
  }
  const auto missing =
      std::find_if(inputs.begin(), inputs.end(), [](const GivenInput& input) { return input.tensor < 0; });
  if (missing == inputs.end()) return inputs;
  return wrong_input(where + "input " + in_quotes(missing->name) + " is missing; expected one tensor for each of the " +
                     std::to_string(inputs.size()) + " inputs");
}

Result<ElementType> type_of(const InputTensor& tensor, const std::string& where) {
  const std::optional<ElementType> type = element_type(tensor.datatype());
  if (type) return *type;
  return wrong_input(where + ": datatype " + in_quotes(tensor.datatype()) + " found, expected " +
                     std::string(input_datatypes));
}

// Reads batch and volume of one input, of its channels alone.
Result<GivenInputs> shape_of(const InputTensor& tensor, const GivenInput& input, const ModelInfo& model) {
  const int rank = model.spatial_rank + 2;
  const auto& shape = tensor.shape();
  const std::string found = named(model, input) + ": shape " + shape_text(shape) + " found, expected ";
  const std::string expected = expected_shape(model, input.channels);
  if (shape.size() != rank) return wrong_input(found + std::to_string(rank) + " dimensions, " + expected);
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 1; })) {
    return wrong_input(found + "every dimension at least 1");
  }
  if (shape[1] != input.channels) return wrong_input(found + expected);
  GivenInputs given;
  given.batch = shape[0];
  given.volume.f = shape[1];
  given.volume.n = Vec3::cube(1);
  for (int axis = 2; axis < rank; ++axis) given.volume.n[axis + 3 - rank] = shape[axis];
  return given;
}

// Fails unless an input has batch, extent and type of `first`, which is that of the model's first one.
Result<void> check_alike(const GivenInputs& given, const GivenInputs& first, const InputTensor& tensor,
                         const InputTensor& first_tensor, const std::string& where) {
  const std::string other = " as input " + in_quotes(first_tensor.name()) + " has";
  if (given.volume.type != first.volume.type) {
    return wrong_input(where + ": datatype " + in_quotes(tensor.datatype()) + " found, expected " +
                       in_quotes(first_tensor.datatype()) + other);
  }
  if (given.batch == first.batch && given.volume.n == first.volume.n) return {};
  return wrong_input(where + ": shape " + shape_text(tensor.shape()) + " found, expected batch and extents of " +
                     shape_text(first_tensor.shape()) + other);
}

// Reads what the tensors declare, and in what regions their voxels are.
Result<GivenInputs> read_shapes(const ModelInferRequest& request, const ModelInfo& model,
                                std::vector<GivenInput> inputs) {
  GivenInputs all;
  for (GivenInput& input : inputs) {
    const InputTensor& tensor = request.inputs(input.tensor);
    const std::string where = named(model, input);
    Result<std::optional<RegionRange>> region = check_tensor_parameters(tensor.parameters(), where);
    if (!region) return region.error();
    input.region = *std::move(region);
    const Result<ElementType> type = type_of(tensor, where);
    if (!type) return type.error();
    Result<GivenInputs> given = shape_of(tensor, input, model);
    if (!given) return given;
    given->volume.type = *type;
    if (&input == &inputs.front()) all = *given;
    const InputTensor& first = request.inputs(inputs.front().tensor);
    if (const Result<void> alike = check_alike(*given, all, tensor, first, where); !alike) return alike.error();
  }
  all.volume.f = model.f_in;
  if (const Result<void> legal = check_shape({all.batch, all.volume.f, all.volume.n}); !legal) {
    return legal.error().within(named(model, inputs.front()));
  }
  all.inputs = std::move(inputs);
  return all;
}

// The typed fields that are in use; no elements if none is.
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

Result<void> check_typed(const InputTensor& tensor, std::int64_t count, ElementType type, const std::string& where) {
  const TypedData data = typed_data(tensor.contents());
  const std::string_view field = typed_field(type);
  if (data.fields == 0) return wrong_input(where + "no data found, expected raw_input_contents");
  if (field.empty()) return wrong_input(where + "FP16 travels in raw_input_contents only");
  if (data.fields > 1 || data.field != field) {
    return wrong_input(where + std::string(data.field) + " found, expected " + std::string(field) +
                       " only for datatype " + std::string(datatype(type)));
  }
  if (data.elements == count) return {};
  return wrong_input(where + std::to_string(data.elements) + " elements found, expected " + std::to_string(count) +
                     " for shape " + shape_text(tensor.shape()));
}

// Checks an input in shared memory, which has no contents. `has_raw`: the request has raw contents that are not another
// input's.
Result<void> check_region(const InputTensor& tensor, std::int64_t expected, const RegionRange& region, bool has_raw,
                          const std::string& where) {
  if (has_raw || typed_data(tensor.contents()).fields != 0) {
    return wrong_input(where + "both a shared memory region and contents found, expected one of them");
  }
  if (region.bytes == expected) return {};
  return wrong_input(where + std::to_string(region.bytes) + " bytes in shared memory found, expected " +
                     std::to_string(expected) + " for shape " + shape_text(tensor.shape()));
}

// Checks an input that is raw; `in_message` inputs are in the message.
Result<void> check_raw(const ModelInferRequest& request, const GivenInput& input, std::int64_t expected, int in_message,
                       const std::string& where) {
  const InputTensor& tensor = request.inputs(input.tensor);
  if (typed_data(tensor.contents()).fields != 0) {
    return wrong_input(where + "both raw_input_contents and contents found, expected one of them");
  }
  if (request.raw_input_contents_size() != in_message) {
    return wrong_input(where + std::to_string(request.raw_input_contents_size()) +
                       " raw_input_contents found, expected " + std::to_string(in_message));
  }
  const auto found = static_cast<std::int64_t>(request.raw_input_contents(input.raw).size());
  if (found == expected) return {};
  return wrong_input(where + std::to_string(found) + " bytes found, expected " + std::to_string(expected) +
                     " for shape " + shape_text(tensor.shape()) + " of " + tensor.datatype());
}

// Numbers the raw contents. Returns how many inputs are in the message.
int number_raw(const ModelInferRequest& request, std::vector<GivenInput>& inputs) {
  std::vector<GivenInput*> in_order(inputs.size());
  for (GivenInput& input : inputs) in_order[static_cast<std::size_t>(input.tensor)] = &input;
  int count = 0;
  for (GivenInput* input : in_order) {
    if (input->region) continue;
    if (request.raw_input_contents_size() > 0) input->raw = count;
    ++count;
  }
  return count;
}

Result<void> check_data(const ModelInferRequest& request, const GivenInputs& given, int in_message,
                        const ModelInfo& model) {
  const bool has_raw = request.raw_input_contents_size() > 0;
  const ElementType type = given.volume.type;
  for (const GivenInput& input : given.inputs) {
    const InputTensor& tensor = request.inputs(input.tensor);
    const std::int64_t count = mul(given.batch, mul(input.channels, voxels(given.volume.n)));
    const std::int64_t bytes = mul(count, element_bytes(type));
    const std::string where = named(model, input) + ": ";
    const Result<void> legal = input.region
                                   ? check_region(tensor, bytes, *input.region, has_raw && in_message == 0, where)
                               : has_raw ? check_raw(request, input, bytes, in_message, where)
                                         : check_typed(tensor, count, type, where);
    if (!legal) return legal;
  }
  return {};
}

}  // namespace

Result<GivenInputs> check_inputs(const ModelInferRequest& request, const ModelInfo& model) {
  Result<std::vector<GivenInput>> inputs = find_inputs(request, model);
  if (!inputs) return inputs.error();
  Result<GivenInputs> given = read_shapes(request, model, *std::move(inputs));
  if (!given) return given;
  const int in_message = number_raw(request, given->inputs);
  if (const Result<void> legal = check_data(request, *given, in_message, model); !legal) return legal.error();
  return given;
}

std::string names_of(const std::vector<NamedTensor>& tensors) {
  constexpr std::size_t most = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(most, tensors.size()); ++i) {
    names += (i == 0 ? "" : " or ") + in_quotes(tensors[i].name);
  }
  return tensors.size() > most ? names + " or another" : names;
}

}  // namespace znni::rpc
