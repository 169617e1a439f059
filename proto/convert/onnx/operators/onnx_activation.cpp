#include "proto/convert/onnx/operators/onnx_activation.hpp"

#include <algorithm>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"
#include "proto/convert/onnx/operators/onnx_scale_shift.hpp"

namespace znni {
namespace {

Result<void> append(const OnnxNode& node, OnnxBuilder& builder, Operation operation) {
  const Result<int> input = builder.value(node.proto, 0);
  if (!input) return input.error();
  builder.append(node.proto, operation, {*input}, builder.channels(*input));
  return {};
}

Result<void> append_with_alpha(const OnnxNode& node, OnnxBuilder& builder, ActivationKind kind, float otherwise) {
  const Result<float> alpha = node.attributes.real("alpha", otherwise);
  if (!alpha) return alpha.error();
  return append(node, builder, Activate{{kind, *alpha}});
}

}  // namespace

Result<void> convert_relu(const OnnxNode& node, OnnxBuilder& builder) {
  return append(node, builder, Activate{{ActivationKind::relu}});
}

Result<void> convert_leaky_relu(const OnnxNode& node, OnnxBuilder& builder) {
  return append_with_alpha(node, builder, ActivationKind::leaky_relu, 0.01F);
}

Result<void> convert_prelu(const OnnxNode& node, OnnxBuilder& builder) {
  const onnx::TensorProto* slopes = builder.constant(node.proto, 1);
  if (slopes == nullptr) return unsupported("its slopes are computed; only constants are supported");
  const Result<int> x = builder.value(node.proto, 0);
  if (!x) return x.error();
  const Result<std::vector<std::int64_t>> dims = dims_of(*slopes);
  if (!dims) return dims.error();
  if (!is_per_channel(*dims, builder.channels(*x), builder.spatial_axes(node.proto.input(0)))) {
    return unsupported("its slopes are neither one number nor one per channel (" +
                       std::to_string(builder.channels(*x)) + "), which is not supported");
  }
  Result<std::vector<float>> values = builder.floats_of(*slopes);
  if (!values) return values.error();
  if (values->empty()) return corrupt("has no slope");
  const bool differ = std::any_of(values->begin(), values->end(), [&](float each) { return each != values->front(); });
  if (!differ) return append(node, builder, Activate{{ActivationKind::leaky_relu, values->front()}});
  builder.append(node.proto, PRelu{}, {*x}, builder.channels(*x), {{}, {}, *std::move(values), {}});
  return {};
}

Result<void> convert_elu(const OnnxNode& node, OnnxBuilder& builder) {
  return append_with_alpha(node, builder, ActivationKind::elu, 1.0F);
}

Result<void> convert_sigmoid(const OnnxNode& node, OnnxBuilder& builder) {
  return append(node, builder, Activate{{ActivationKind::sigmoid}});
}

Result<void> convert_tanh(const OnnxNode& node, OnnxBuilder& builder) {
  return append(node, builder, Activate{{ActivationKind::tanh}});
}

Result<void> convert_softplus(const OnnxNode& node, OnnxBuilder& builder) {
  return append(node, builder, Activate{{ActivationKind::softplus}});
}

Result<void> convert_hard_swish(const OnnxNode& node, OnnxBuilder& builder) {
  return append(node, builder, Activate{{ActivationKind::hard_swish}});
}

Result<void> convert_mish(const OnnxNode& node, OnnxBuilder& builder) {
  return append(node, builder, Activate{{ActivationKind::mish}});
}

Result<void> convert_gelu(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<std::string> approximate = node.attributes.text("approximate", "none");
  if (!approximate) return approximate.error();
  if (*approximate == "none") return append(node, builder, Activate{{ActivationKind::gelu}});
  if (*approximate == "tanh") return append(node, builder, Activate{{ActivationKind::gelu_tanh}});
  return unsupported("approximate = " + in_quotes(*approximate) + " is not supported; only 'none' and 'tanh'");
}

Result<void> convert_swish(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<float> alpha = node.attributes.real("alpha", 1.0F);
  if (!alpha) return alpha.error();
  if (*alpha != 1) return unsupported("alpha = " + std::to_string(*alpha) + " is not supported; only 1");
  return append(node, builder, Activate{{ActivationKind::silu}});
}

Result<void> convert_selu(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<float> alpha = node.attributes.real("alpha", 1.67326319217681884765625F);
  if (!alpha) return alpha.error();
  const Result<float> gamma = node.attributes.real("gamma", 1.05070102214813232421875F);
  if (!gamma) return gamma.error();
  const Result<int> input = builder.value(node.proto, 0);
  if (!input) return input.error();
  const std::int64_t channels = builder.channels(*input);
  const int curve = builder.append_part(node.proto, Activate{{ActivationKind::elu, *alpha}}, *input, channels);
  NodeWeights weights;
  weights.scale.assign(static_cast<std::size_t>(channels), *gamma);
  weights.shift.assign(static_cast<std::size_t>(channels), 0.0F);
  builder.append(node.proto, ScaleShift{}, {curve}, channels, std::move(weights));
  return {};
}

}  // namespace znni
