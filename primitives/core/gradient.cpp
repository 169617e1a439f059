#include "primitives/core/gradient.hpp"

#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

bool has_gradient(const LayerProblem& layer) {
  if (const auto* across = std::get_if<AcrossChannelsProblem>(&layer)) {
    return across->kind == AcrossKind::softmax || across->kind == AcrossKind::log_softmax;
  }
  if (const auto* pool = std::get_if<PoolProblem>(&layer)) {
    if (pool->kind == PoolKind::max) return voxels(pool->window) <= max_pooled_voxels;
    return pool->kind == PoolKind::average || pool->mode == PoolMode::plain;
  }
  if (const auto* upsample = std::get_if<UpsampleProblem>(&layer)) return upsample->kind != UpsampleKind::aligned;
  return std::holds_alternative<ConvProblem>(layer) || std::holds_alternative<ActivationProblem>(layer) ||
         std::holds_alternative<AddProblem>(layer) || std::holds_alternative<ConcatProblem>(layer) ||
         std::holds_alternative<CropProblem>(layer) || std::holds_alternative<DivideProblem>(layer) ||
         std::holds_alternative<MultiplyProblem>(layer) || std::holds_alternative<PReluProblem>(layer) ||
         std::holds_alternative<ScaleShiftProblem>(layer);
}

bool has_bias(const LayerProblem& layer) {
  return std::holds_alternative<ConvProblem>(layer) || std::holds_alternative<ScaleShiftProblem>(layer);
}

bool has_weights(const LayerProblem& layer) { return has_bias(layer) || std::holds_alternative<PReluProblem>(layer); }

// Returns the activation that a layer of another kind applies to its sum.
Activation fused_activation(const LayerProblem& layer) {
  if (const auto* conv = std::get_if<ConvProblem>(&layer)) return conv->activation;
  if (const auto* sum = std::get_if<AddProblem>(&layer)) return sum->activation;
  return {};
}

// Returns the bytes of the gradients of a layer's weights, with that of its bias.
std::int64_t weights_bytes(const LayerProblem& layer, Format format) {
  const Shape5 shape = weights_shape(layer);
  const std::int64_t count = has_scale(layer) ? shape.f : shape.S;
  const std::int64_t bias = has_bias(layer) ? tensor_bytes({1, count, Vec3::cube(1)}, {}) : 0;
  return add(tensor_bytes(shape, format), bias);
}

// Returns the value from which an activation's slope follows.
SavedValue saved_value(Activation activation) {
  switch (activation.kind) {
    case ActivationKind::none: return SavedValue::none;
    case ActivationKind::relu:
    case ActivationKind::sigmoid:
    case ActivationKind::tanh:
    case ActivationKind::capped_relu:
    case ActivationKind::softplus: return SavedValue::output;
    case ActivationKind::leaky_relu:
    case ActivationKind::elu: return activation.alpha < 0.0F ? SavedValue::input : SavedValue::output;
    case ActivationKind::silu:
    case ActivationKind::hard_swish:
    case ActivationKind::mish:
    case ActivationKind::gelu:
    case ActivationKind::gelu_tanh: return SavedValue::input;
  }
  return SavedValue::input;
}

}  // namespace

SavedValue saved_value(const GradientProblem& problem) {
  if (problem.of != GradientOf::input) return SavedValue::input;
  if (const auto* pool = std::get_if<PoolProblem>(&problem.layer)) {
    return pool->kind == PoolKind::average ? SavedValue::none : SavedValue::input;
  }
  if (const auto* own = std::get_if<ActivationProblem>(&problem.layer)) return saved_value(own->activation);
  const bool reads_input = std::holds_alternative<MultiplyProblem>(problem.layer) ||
                           std::holds_alternative<DivideProblem>(problem.layer) ||
                           std::holds_alternative<PReluProblem>(problem.layer);
  if (reads_input) return SavedValue::input;
  return std::holds_alternative<AcrossChannelsProblem>(problem.layer) ? SavedValue::output : SavedValue::none;
}

int saved_input(const GradientProblem& problem) {
  if (std::holds_alternative<DivideProblem>(problem.layer)) return 1;
  return std::holds_alternative<MultiplyProblem>(problem.layer) ? 1 - problem.input : 0;
}

bool reads_result(const GradientProblem& problem) {
  return std::holds_alternative<DivideProblem>(problem.layer) && problem.input == 1;
}

Shape5 gradient_shape(const GradientProblem& problem) {
  if (problem.of == GradientOf::weights) return weights_shape(problem.layer);
  return input_shape(problem.layer, problem.input);
}

Shape5 weights_shape(const LayerProblem& layer) {
  if (has_scale(layer)) return {1, input_shape(layer, 0).f, Vec3::cube(1)};
  const auto& conv = std::get<ConvProblem>(layer);
  return {conv.f_out, conv.in.f / conv.groups, conv.k};
}

Shape5 saved_shape(const GradientProblem& problem) {
  const bool is_input = saved_value(problem) == SavedValue::input;
  return is_input ? input_shape(problem.layer, saved_input(problem)) : output_shape(problem.layer);
}

Result<void> check(const GradientProblem& problem) {
  if (Result<void> sound = check(problem.layer); !sound) return sound;
  if (!has_gradient(problem.layer)) return refused("no gradient is known of: " + to_string(problem.layer));
  if (fused_activation(problem.layer).kind != ActivationKind::none) {
    return refused("the gradient of an activation is a problem of its own; take it off: " + to_string(problem.layer));
  }
  if (problem.input < 0 || problem.input >= input_count(problem.layer)) {
    return invalid_argument("input " + std::to_string(problem.input) + " of " +
                            std::to_string(input_count(problem.layer)) + " was named: " + to_string(problem.layer));
  }
  if (problem.of == GradientOf::both && (!std::holds_alternative<ConvProblem>(problem.layer) || problem.input != 0)) {
    return invalid_argument("two gradients at once are those of input 0 and the weights of a convolution, not: " +
                            to_string(problem.layer));
  }
  const bool has_own = has_weights(problem.layer) && problem.input == 0;
  if (problem.of == GradientOf::weights && !has_own) {
    return invalid_argument("input " + std::to_string(problem.input) + " has no weights: " + to_string(problem.layer));
  }
  return {};
}

std::string to_string(const GradientProblem& problem) {
  const std::string input = input_name(problem.input);
  const std::string of = problem.of == GradientOf::weights ? "the weights"
                         : problem.of == GradientOf::both  ? input + " and the weights"
                                                           : input;
  return "gradient of " + of + ": " + to_string(problem.layer);
}

MemoryPlan gradient_buffers(const GradientProblem& problem, Format in, Format out) {
  MemoryPlan plan;
  const auto declare = [&](std::string_view name, std::int64_t bytes) {
    plan.push_back({std::string(name), MemorySpace::host, bytes, Lifetime::stages(0, 0)});
  };
  declare(output_gradient_name, tensor_bytes(output_shape(problem.layer), in));
  if (saved_value(problem) != SavedValue::none) declare(saved_value_name, tensor_bytes(saved_shape(problem), in));
  if (reads_result(problem)) declare(result_name, tensor_bytes(output_shape(problem.layer), in));
  const bool of_weights = problem.of == GradientOf::weights;
  declare(gradient_name, of_weights ? weights_bytes(problem.layer, out) : tensor_bytes(gradient_shape(problem), out));
  if (problem.of == GradientOf::both) declare(weights_gradient_name, weights_bytes(problem.layer, {}));
  return plan;
}

Error refusal(std::string_view primitive, std::string_view computes, const GradientProblem& problem) {
  return refused(std::string(primitive) + " computes " + std::string(computes) + ", not: " + to_string(problem));
}

}  // namespace znni
