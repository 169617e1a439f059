#include "proto/convert/onnx_reader.hpp"

#include "proto/convert/errors.hpp"
#include "proto/convert/onnx_builder.hpp"
#include "proto/convert/onnx_external.hpp"
#include "proto/convert/onnx_operators.hpp"
#include "proto/convert/onnx_softmax.hpp"
#include "proto/convert/onnx_tensors.hpp"

namespace znni {
namespace {

// What the tensors of the net look like: [N][f_in][spatial axes].
struct InputForm {
  int rank = 0;
  std::int64_t f_in = 0;
};

// Extents of the first Conv's weights; empty where there is none.
std::vector<std::int64_t> first_weights(const OnnxGraph& graph) {
  for (const onnx::NodeProto* node : graph.nodes) {
    if (!is_operator(*node, "Conv") || node->input_size() < 2) continue;
    const auto weights = graph.constants.find(node->input(1));
    if (weights == graph.constants.end()) return {};
    return {weights->second->dims().begin(), weights->second->dims().end()};
  }
  return {};
}

Result<void> check_input_type(const onnx::TypeProto& type) {
  if (!type.has_tensor_type()) return unsupported("is not a tensor");
  const int element = type.tensor_type().elem_type();
  const bool real = element == onnx::TensorProto::FLOAT || element == onnx::TensorProto::FLOAT16 ||
                    element == onnx::TensorProto::DOUBLE || element == onnx::TensorProto::UNDEFINED;
  if (real) return {};
  return unsupported("has elements of type number " + std::to_string(element) + "; FLOAT is right");
}

Result<InputForm> form_of(const OnnxGraph& graph) {
  const onnx::TypeProto& type = graph.input->type();
  if (const Result<void> sound = check_input_type(type); !sound) return sound.error();
  const onnx::TensorShapeProto& shape = type.tensor_type().shape();
  const std::vector<std::int64_t> weights = first_weights(graph);
  const int axes = type.tensor_type().has_shape() ? shape.dim_size() : static_cast<int>(weights.size());
  if (axes < 3 || axes > 5) {
    return unsupported("has " + std::to_string(axes) + " axes; [N, C, Z, Y, X] and fewer spatial axes are supported");
  }
  InputForm form{axes - 2, 0};
  if (type.tensor_type().has_shape() && shape.dim(1).has_dim_value()) form.f_in = shape.dim(1).dim_value();
  if (form.f_in == 0 && weights.size() > 1) form.f_in = weights[1];
  if (form.f_in < 1) return corrupt("does not say how many images it has (axis 1)");
  if (form.f_in > most_onnx_images) return unsupported("has " + std::to_string(form.f_in) + " images");
  return form;
}

// A tensor may be shared by some nodes, and one number may stand for all images: a few times the file.
std::int64_t plausible_parameters(const onnx::ModelProto& model) {
  constexpr std::int64_t always = std::int64_t{1} << 22;
  return add(always, mul(4, static_cast<std::int64_t>(model.ByteSizeLong())));
}

Result<void> check_result(const onnx::ModelProto& model, const OnnxGraph& graph, OnnxBuilder& builder) {
  builder.network().name = model.graph().name();
  const int output = builder.value_of(graph.output);
  if (builder.turned(graph.output) != nullptr) {
    return unsupported("the output " + in_quotes(graph.output) + " is transposed; only [N, C, Z, Y, X] is supported");
  }
  if (output < 0) return unsupported("the output " + in_quotes(graph.output) + " is not the first output of a node");
  if (output != static_cast<int>(builder.network().nodes.size())) {
    return unsupported("the output " + in_quotes(graph.output) + " is not what the last node writes");
  }
  if (const Result<void> sound = check(builder.network()); !sound) return corrupt(sound.error().message);
  if (const Result<void> sound = check_flattened(graph, builder); !sound) return sound.error();
  return check_weights(builder.network(), builder.weights());
}

}  // namespace

Result<LoadedNetwork> read_onnx(const onnx::ModelProto& model) {
  const Result<OnnxGraph> graph = make_onnx_graph(model);
  if (!graph) return graph.error();
  const Result<InputForm> form = form_of(*graph);
  if (!form) return form.error().within("input " + in_quotes(graph->input->name()));
  OnnxBuilder builder(*graph, form->rank, form->f_in, plausible_parameters(model));
  for (const onnx::NodeProto* node : graph->nodes) {
    if (const Result<void> converted = convert_node(*node, builder); !converted) return converted.error();
  }
  if (const Result<void> sound = check_result(model, *graph, builder); !sound) return sound.error();
  return LoadedNetwork{std::move(builder.network()), std::move(builder.weights())};
}

Result<LoadedNetwork> read_onnx_bytes(std::string_view bytes, const std::string& path) {
  if (bytes.size() > static_cast<std::size_t>(most_model_bytes))
    return unsupported("is over the 2 GiB of a protobuf file");
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return corrupt("not an ONNX model, or cut short (" + std::to_string(bytes.size()) + " bytes)");
  }
  if (!path.empty()) {
    if (const Result<void> loaded = load_external_data(model, path); !loaded) return loaded.error();
  }
  return read_onnx(model);
}

}  // namespace znni
