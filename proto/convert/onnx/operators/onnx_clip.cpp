#include "proto/convert/onnx/operators/onnx_clip.hpp"

#include <limits>

#include "proto/convert/base/errors.hpp"

namespace znni {
namespace {

constexpr float largest = std::numeric_limits<float>::max();

struct Bounds {
  float least = -largest;
  float most = largest;
};

NodeWeights weights_of(float scale, float shift, std::int64_t channels) {
  NodeWeights weights;
  weights.scale.assign(static_cast<std::size_t>(channels), scale);
  weights.shift.assign(static_cast<std::size_t>(channels), shift);
  return weights;
}

// Returns the one number of a constant; infinite ones, too.
Result<float> number_of(const OnnxNode& node, const OnnxBuilder& builder, int index) {
  const std::string& name = node.proto.input(index);
  if (const std::optional<KnownTensor> known = builder.known_at(node.proto, index)) {
    if (known->kind == KnownKind::real && known->elements.size() == 1) return known->elements.front().real;
  }
  const onnx::TensorProto* constant = builder.constant(node.proto, index);
  if (constant == nullptr)
    return unsupported("its bound " + in_quotes(name) + " is computed; only constants are supported");
  const Result<std::vector<float>> values = builder.floats_of(*constant);
  if (!values) return values.error();
  if (values->size() == 1) return values->front();
  return corrupt("its bound " + in_quotes(name) + " has " + std::to_string(values->size()) + " elements; 1 is right");
}

// Up to operator set 10 the bounds are attributes, later inputs.
Result<Bounds> bounds_of(const OnnxNode& node, const OnnxBuilder& builder) {
  Bounds bounds;
  const Result<float> least = node.attributes.real("min", bounds.least);
  if (!least) return least.error();
  const Result<float> most = node.attributes.real("max", bounds.most);
  if (!most) return most.error();
  bounds = {*least, *most};
  for (const int index : {1, 2}) {
    if (!OnnxBuilder::has_input(node.proto, index)) continue;
    const Result<float> bound = number_of(node, builder, index);
    if (!bound) return bound.error();
    (index == 1 ? bounds.least : bounds.most) = *bound;
  }
  if (bounds.least <= bounds.most) return bounds;
  return unsupported("min = " + std::to_string(bounds.least) + " and max = " + std::to_string(bounds.most) +
                     " is not supported; min must not be above max");
}

// Appends activation(scale x + shift), mapped back to where x lies: (that - shift) / scale, for a scale of 1 or -1.
void append_between(const OnnxNode& node, OnnxBuilder& builder, int input, float scale, float shift,
                    Activation activation) {
  const std::int64_t channels = builder.channels(input);
  const int before = builder.append_part(node.proto, ScaleShift{}, input, channels, weights_of(scale, shift, channels));
  const int between = builder.append_part(node.proto, Activate{activation}, before, channels);
  builder.append(node.proto, ScaleShift{}, {between}, channels, weights_of(scale, -scale * shift, channels));
}

// Appends the clip to bounds between which 0 lies: each side by itself, so that no value is shifted and rounded.
void append_sides(const OnnxNode& node, OnnxBuilder& builder, int input, const Bounds& bounds) {
  const auto up_to = [](float most) {
    return most < largest ? Activation{ActivationKind::capped_relu, most} : Activation{ActivationKind::relu};
  };
  const std::int64_t channels = builder.channels(input);
  const auto mirrored = [&](int value) {
    return builder.append_part(node.proto, ScaleShift{}, value, channels, weights_of(-1, 0, channels));
  };
  const int above = builder.append_part(node.proto, Activate{up_to(bounds.most)}, input, channels);
  const int turned = mirrored(input);
  const int below = mirrored(builder.append_part(node.proto, Activate{up_to(-bounds.least)}, turned, channels));
  builder.append(node.proto, Add{}, {above, below}, channels);
}

}  // namespace

Result<void> convert_clip(const OnnxNode& node, OnnxBuilder& builder) {
  if (builder.guess_reader(node.proto)) return {};
  const Result<int> input = builder.value(node.proto, 0);
  if (!input) return input.error();
  const Result<Bounds> bounds = bounds_of(node, builder);
  if (!bounds) return bounds.error();
  const auto [least, most] = *bounds;
  if (least <= -largest && most >= largest) {
    builder.alias(node.proto, *input);
    return {};
  }
  if (least < 0 && most > 0) {
    append_sides(node, builder, *input, *bounds);
    return {};
  }
  const bool bounded = least > -largest && most < largest;
  const Activation activation =
      bounded ? Activation{ActivationKind::capped_relu, most - least} : Activation{ActivationKind::relu};
  if (least == 0) {
    builder.append(node.proto, Activate{activation}, {*input}, builder.channels(*input));
  } else if (least > 0) {
    append_between(node, builder, *input, 1, -least, activation);
  } else {  // x is mirrored
    append_between(node, builder, *input, -1, most, activation);
  }
  return {};
}

Result<void> convert_hard_sigmoid(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<float> alpha = node.attributes.real("alpha", 0.2F);
  if (!alpha) return alpha.error();
  const Result<float> beta = node.attributes.real("beta", 0.5F);
  if (!beta) return beta.error();
  const Result<int> input = builder.value(node.proto, 0);
  if (!input) return input.error();
  const std::int64_t channels = builder.channels(*input);
  const int line = builder.append_part(node.proto, ScaleShift{}, *input, channels, weights_of(*alpha, *beta, channels));
  builder.append(node.proto, Activate{{ActivationKind::capped_relu, 1}}, {line}, channels);
  return {};
}

}  // namespace znni
