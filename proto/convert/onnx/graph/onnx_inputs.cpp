#include "proto/convert/onnx/graph/onnx_inputs.hpp"

#include <algorithm>
#include <string>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_builder.hpp"

namespace znni {
namespace {

const onnx::TensorShapeProto& shape_of(const onnx::ValueInfoProto& input) { return input.type().tensor_type().shape(); }

Result<void> check_input_type(const onnx::TypeProto& type) {
  if (!type.has_tensor_type()) return unsupported("is not a tensor");
  const int element = type.tensor_type().elem_type();
  const bool real = element == onnx::TensorProto::FLOAT || element == onnx::TensorProto::FLOAT16 ||
                    element == onnx::TensorProto::BFLOAT16 || element == onnx::TensorProto::DOUBLE ||
                    element == onnx::TensorProto::UNDEFINED;
  if (real) return {};
  return unsupported("has elements of type number " + std::to_string(element) + "; FLOAT is right");
}

// Returns the form of an input. `weights` are those of the first convolution, if it may say what the input does not.
Result<InputForm> form_of(const onnx::ValueInfoProto& input, const std::vector<std::int64_t>& weights,
                          bool channels_last) {
  if (const Result<void> sound = check_input_type(input.type()); !sound) return sound.error();
  const bool has_shape = input.type().tensor_type().has_shape();
  const int axes = has_shape ? shape_of(input).dim_size() : static_cast<int>(weights.size());
  if (axes < 3 || axes > 5) {
    return unsupported("has " + std::to_string(axes) + " axes; [N, C, Z, Y, X] and fewer spatial axes are supported");
  }
  InputForm form{axes - 2, declared_channels(input, channels_last ? axes - 1 : 1)};
  if (form.f_in == 0 && weights.size() > 1) form.f_in = weights[1];
  if (form.f_in < 1)
    return corrupt("does not say how many channels it has (axis " + std::to_string(channels_last ? axes - 1 : 1) + ")");
  if (form.f_in > max_onnx_channels) return unsupported("has " + std::to_string(form.f_in) + " channels");
  return form;
}

// Returns the extent along an axis, batch and channels counted; 0 where the input leaves it open.
std::int64_t declared_along(const onnx::ValueInfoProto& input, int axis) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  const onnx::TensorShapeProto& shape = shape_of(input);
  const std::int64_t n = axis < shape.dim_size() ? shape.dim(axis).dim_value() : 0;  // 0 where there is none
  return n > 0 && n <= most ? n : 0;
}

// Returns what one of the inputs declares along an axis; 0 if none does.
std::int64_t declared_along(const OnnxGraph& graph, int axis) {
  std::int64_t n = 0;
  for (const onnx::ValueInfoProto* input : graph.inputs) n = n > 0 ? n : declared_along(*input, axis);
  return n;
}

std::string extent_text(std::int64_t n) { return n == 0 ? "an open extent" : "an extent of " + std::to_string(n); }

// Fails if an input declares something else than the others along an axis but that of the channels. An extent of 1 is
// that of a tensor that stands for all voxels, so that it is not one that others may leave open.
Result<void> check_alike(const OnnxGraph& graph, int axis) {
  const std::int64_t all = declared_along(graph, axis);
  for (const onnx::ValueInfoProto* input : graph.inputs) {
    const std::int64_t n = declared_along(*input, axis);
    if (n == all || (n == 0 && (all > 1 || axis == 0))) continue;
    return inputs_differ(graph, in_quotes(input->name()) + " has " + extent_text(n) + " along axis " +
                                    std::to_string(axis) + ", another " + extent_text(all));
  }
  return {};
}

// Returns the form of several inputs as one.
Result<InputForm> joined_form(const OnnxGraph& graph) {
  InputForm all;
  for (const onnx::ValueInfoProto* input : graph.inputs) {
    const Result<InputForm> form = form_of(*input, {}, false);
    if (!form) return form.error().within("input " + in_quotes(input->name()));
    if (input == graph.inputs.front()) all.rank = form->rank;
    if (form->rank != all.rank)
      return inputs_differ(graph, in_quotes(input->name()) + " has other axes than the first");
    all.f_in = add(all.f_in, form->f_in);
  }
  if (all.f_in > max_onnx_channels) return unsupported("its inputs have " + std::to_string(all.f_in) + " channels");
  for (int axis = 0; axis < all.rank + 2; ++axis) {
    const Result<void> alike = axis == 1 ? Result<void>() : check_alike(graph, axis);
    if (!alike) return alike.error();
  }
  return all;
}

}  // namespace

std::vector<std::int64_t> first_weights(const OnnxGraph& graph) {
  for (const onnx::NodeProto* node : graph.nodes) {
    if (!is_operator(*node, "Conv") || node->input_size() < 2) continue;
    const auto weights = graph.constants.find(node->input(1));
    if (weights == graph.constants.end()) return {};
    return {weights->second->dims().begin(), weights->second->dims().end()};
  }
  return {};
}

Result<InputForm> form_of(const OnnxGraph& graph) {
  if (graph.inputs.size() > 1) return joined_form(graph);
  Result<InputForm> form = form_of(*graph.inputs.front(), first_weights(graph), graph.channels_last);
  return form ? std::move(form) : form.error().within("input " + in_quotes(graph.input));
}

Error inputs_differ(const OnnxGraph& graph, const std::string& how) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto* input : graph.inputs) names.push_back(input->name());
  return unsupported("its inputs " + names_in_quotes(names) +
                     " are read as channels of one, for which they must have one extent (" + how + ")");
}

Vec3 declared_extent(const OnnxGraph& graph, int rank) {
  Vec3 extent;
  const int first = graph.channels_last ? 1 : 2;
  for (int i = 0; i < rank; ++i) extent[3 - rank + i] = declared_along(graph, first + i);
  return extent;
}

std::int64_t declared_batch(const OnnxGraph& graph) {
  const std::int64_t batch = declared_along(graph, 0);
  return batch > 0 ? batch : 1;
}

}  // namespace znni
