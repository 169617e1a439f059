#include "primitives/core/gradient.hpp"

#include "primitives/core/overloaded.hpp"
#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

enum class Parameters { none, slopes, with_bias };

// What a layer's gradients need.
struct GradientRules {
  bool exists = true;
  Parameters parameters = Parameters::none;
  Activation activation = {};                 // that the layer applies to its sum
  SavedValue saved_value = SavedValue::none;  // for the gradient of an input
};

constexpr GradientRules no_gradient{.exists = false};

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

GradientRules rules_of(const PoolProblem& pool) {
  const bool exists = pool.kind == PoolKind::max ? voxels(pool.window) <= max_pooled_voxels
                                                 : pool.kind == PoolKind::average || pool.mode == PoolMode::plain;
  return {.exists = exists, .saved_value = pool.kind == PoolKind::average ? SavedValue::none : SavedValue::input};
}

GradientRules rules_of(const AcrossChannelsProblem& across) {
  const bool exists = across.kind == AcrossKind::softmax || across.kind == AcrossKind::log_softmax;
  return {.exists = exists, .saved_value = SavedValue::output};
}

// Returns the rules of a layer. An alternative that is added does not compile until it is answered here.
GradientRules rules_of(const LayerProblem& layer) {
  constexpr Parameters with_bias = Parameters::with_bias;
  return std::visit(
      Overloaded{
          [](const ConvProblem& conv) { return GradientRules{.parameters = with_bias, .activation = conv.activation}; },
          [](const PoolProblem& pool) { return rules_of(pool); },
          [](const ActivationProblem& own) { return GradientRules{.saved_value = saved_value(own.activation)}; },
          [](const AcrossChannelsProblem& across) { return rules_of(across); },
          [](const ScaleShiftProblem&) { return GradientRules{.parameters = with_bias}; },
          [](const AddProblem& sum) { return GradientRules{.activation = sum.activation}; },
          [](const ConcatProblem&) { return GradientRules{}; },
          [](const ReorderProblem&) { return no_gradient; },
          [](const CropProblem&) { return GradientRules{}; },
          [](const ConvPoolProblem&) { return no_gradient; },
          [](const UpsampleProblem& up) { return GradientRules{.exists = up.kind != UpsampleKind::aligned}; },
          [](const NormProblem&) { return no_gradient; },
          [](const MultiplyProblem&) { return GradientRules{.saved_value = SavedValue::input}; },
          [](const GlobalPoolProblem&) { return no_gradient; },
          [](const PReluProblem&) {
            return GradientRules{.parameters = Parameters::slopes, .saved_value = SavedValue::input};
          },
          [](const AttentionProblem&) { return no_gradient; },
          [](const AddVolumeProblem&) { return no_gradient; },
          [](const DivideProblem&) { return GradientRules{.saved_value = SavedValue::input}; },
          [](const StackProblem&) { return no_gradient; },
      },
      layer);
}

// Returns the bytes of the gradients of a layer's weights, with that of its bias.
std::int64_t weights_bytes(const LayerProblem& layer, Format format) {
  const Shape5 shape = weights_shape(layer);
  const std::int64_t count = has_scale(layer) ? shape.f : shape.S;
  const bool has_bias = rules_of(layer).parameters == Parameters::with_bias;
  return add(tensor_bytes(shape, format), has_bias ? tensor_bytes({1, count, Vec3::cube(1)}, {}) : 0);
}

}  // namespace

SavedValue saved_value(const GradientProblem& problem) {
  return problem.of == GradientOf::input ? rules_of(problem.layer).saved_value : SavedValue::input;
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
  const GradientRules rules = rules_of(problem.layer);
  if (!rules.exists) return refused("no gradient is known of: " + to_string(problem.layer));
  if (rules.activation.kind != ActivationKind::none) {
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
  const bool has_own = rules.parameters != Parameters::none && problem.input == 0;
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
