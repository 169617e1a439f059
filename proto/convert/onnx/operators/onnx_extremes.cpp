#include "proto/convert/onnx/operators/onnx_extremes.hpp"

#include <utility>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/operators/onnx_scale_shift.hpp"

namespace znni {
namespace {

constexpr int max_tensors = 64;  // each is several layers: a small file must not make very many

// Returns the two tensors whose sum is the extreme of `a` and `b`.
std::vector<int> extreme_terms(const OnnxNode& node, OnnxBuilder& builder, int a, int b, bool is_max) {
  const std::int64_t channels = builder.channels(a);
  const int difference = builder.append_part(node.proto, Add{}, {a, append_negative(node, builder, b)}, channels);
  const int above = builder.append_part(node.proto, Activate{{ActivationKind::relu}}, difference, channels);
  if (is_max) return {above, b};
  return {a, append_negative(node, builder, above)};
}

Result<void> convert_extreme(const OnnxNode& node, OnnxBuilder& builder, bool is_max) {
  if (node.proto.input_size() > max_tensors) {
    return unsupported("of " + std::to_string(node.proto.input_size()) + " tensors is not supported; at most " +
                       std::to_string(max_tensors) + " are");
  }
  std::vector<int> inputs;
  for (int i = 0; i < node.proto.input_size(); ++i) {
    if (builder.constant(node.proto, i) != nullptr) return unsupported("of a constant is not supported; Clip is");
    const Result<int> input = builder.value(node.proto, i);
    if (!input) return input.error();
    inputs.push_back(*input);
  }
  if (inputs.size() == 1) {
    builder.alias(node.proto, inputs.front());
    return {};
  }
  int extreme = inputs.front();
  for (std::size_t i = 1; i + 1 < inputs.size(); ++i) {
    const std::int64_t channels = builder.channels(extreme);
    extreme =
        builder.append_part(node.proto, Add{}, extreme_terms(node, builder, extreme, inputs[i], is_max), channels);
    if (Result<void> fits = builder.check_limits(); !fits) return fits;
  }
  const std::int64_t channels = builder.channels(extreme);
  builder.append(node.proto, Add{}, extreme_terms(node, builder, extreme, inputs.back(), is_max), channels);
  return {};
}

}  // namespace

Result<void> convert_max(const OnnxNode& node, OnnxBuilder& builder) { return convert_extreme(node, builder, true); }

Result<void> convert_min(const OnnxNode& node, OnnxBuilder& builder) { return convert_extreme(node, builder, false); }

}  // namespace znni
