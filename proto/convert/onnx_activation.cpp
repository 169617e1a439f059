#include "proto/convert/onnx_activation.hpp"

#include <algorithm>

#include "proto/convert/errors.hpp"

namespace znni {
namespace {

Result<void> append(const OnnxNode& node, OnnxBuilder& builder, Operation operation) {
  const Result<int> input = builder.value(node.proto, 0);
  if (!input) return input.error();
  builder.append(node.proto, operation, {*input}, builder.images(*input));
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
  const Result<std::vector<float>> values = builder.floats_of(*slopes);
  if (!values) return values.error();
  if (values->empty()) return corrupt("has no slope");
  const auto other =
      std::find_if(values->begin(), values->end(), [&](float slope) { return slope != values->front(); });
  if (other != values->end()) {
    return unsupported("has slopes of " + std::to_string(values->front()) + " and " + std::to_string(*other) +
                       "; only one slope for all channels is supported");
  }
  return append(node, builder, Activate{{ActivationKind::leaky_relu, values->front()}});
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

}  // namespace znni
