// cpu.grad.activation: the gradient of the output times the activation's slope, element by element. The slope follows
// from the saved value, which is the activation's output where that suffices (saved_value()).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/grad/gradients.hpp"
#include "primitives/cpu/vectors/simd8.hpp"

namespace znni::cpu {
namespace {

// Cycles of scalar code for a slope with exponentials.
constexpr double lengthy_cycles = 60.0;

// Returns the slope of an activation that needs exponentials, by its input; of softplus by its output.
double lengthy_slope(ActivationKind kind, double value) {
  const double sigmoid = 1.0 / (1.0 + std::exp(-value));
  switch (kind) {
    case ActivationKind::softplus: return -std::expm1(-value);
    case ActivationKind::silu: return sigmoid * (1.0 + value * (1.0 - sigmoid));
    case ActivationKind::mish: {
      const double factor = std::tanh(value > 0.0 ? value + std::log1p(std::exp(-value)) : std::log1p(std::exp(value)));
      return factor + value * (1.0 - factor * factor) * sigmoid;
    }
    case ActivationKind::gelu: {
      const double density = std::exp(-0.5 * value * value) / std::sqrt(2.0 * std::numbers::pi);
      return 0.5 * std::erfc(-value * std::sqrt(0.5)) + value * density;
    }
    case ActivationKind::gelu_tanh: {
      const double scale = std::sqrt(2.0 / std::numbers::pi);
      const double factor = std::tanh(scale * (value + 0.044715 * value * value * value));
      const double inner = scale * (1.0 + 3.0 * 0.044715 * value * value);
      return 0.5 * (1.0 + factor) + 0.5 * value * (1.0 - factor * factor) * inner;
    }
    default: return 1.0;
  }
}

// A part of a tensor.
struct Slopes {
  std::span<const float> output;
  std::span<const float> saved;
  std::span<float> to;
  bool past_caches = false;  // `to` is written without reading its lines first
};

// Computes whole vectors, and returns how many elements they have.
template <bool past_caches, class Chosen>
std::size_t choose_vectors(const Slopes& part, const Chosen& chosen) {
  constexpr std::size_t lanes = Simd8::lanes;
  std::size_t i = 0;
  for (; i + lanes <= part.to.size(); i += lanes) {
    const Simd8::V value = chosen(Simd8::load(part.output.data() + i), Simd8::load(part.saved.data() + i));
    if constexpr (past_caches) {
      Simd8::stream(part.to.data() + i, value);
    } else {
      Simd8::store(part.to.data() + i, value);
    }
  }
  if constexpr (past_caches) Simd8::fence();
  return i;
}

// Computes to[i] = chosen(output[i], saved[i]), vector by vector: slopes of two values whose signs follow no pattern
// would cost a branch that is foretold wrongly every other time. chosen() takes floats and vectors alike.
template <class Chosen>
void choose(const Slopes& part, const Chosen& chosen) {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(part.to.data()) % sizeof(Simd8::V) == 0;
  std::size_t i =
      part.past_caches && is_aligned ? choose_vectors<true>(part, chosen) : choose_vectors<false>(part, chosen);
  for (; i < part.to.size(); ++i) part.to[i] = chosen(part.output[i], part.saved[i]);
}

// Computes to[i] = output[i] * slope(saved[i]).
template <class Slope>
void scale(const Slopes& part, const Slope& slope) {
  for (std::size_t i = 0; i < part.to.size(); ++i) part.to[i] = part.output[i] * slope(part.saved[i]);
}

void scale_by_slope(Activation activation, const Slopes& part) {
  const float alpha = activation.alpha;
  switch (activation.kind) {
    case ActivationKind::none: std::copy(part.output.begin(), part.output.end(), part.to.begin()); return;
    case ActivationKind::relu:
      return choose(part, [](auto g, auto y) { return y > decltype(y){} ? g : decltype(g){}; });
    case ActivationKind::leaky_relu:
      return choose(part, [=](auto g, auto y) { return y > decltype(y){} ? g : alpha * g; });
    case ActivationKind::elu:
      if (alpha < 0.0F) {
        return scale(part, [=](float x) { return x > 0.0F ? 1.0F : alpha * std::exp(x); });
      }
      return scale(part, [=](float y) { return y > 0.0F ? 1.0F : y + alpha; });
    case ActivationKind::sigmoid: return scale(part, [](float y) { return y * (1.0F - y); });
    case ActivationKind::tanh: return scale(part, [](float y) { return 1.0F - y * y; });
    case ActivationKind::capped_relu:
      return choose(part, [=](auto g, auto y) {
        const auto top = decltype(y){} + alpha;
        return (y > decltype(y){}) & (y < top) ? g : decltype(g){};
      });
    case ActivationKind::hard_swish:
      return scale(part, [](float x) { return x <= -3.0F ? 0.0F : x >= 3.0F ? 1.0F : x / 3.0F + 0.5F; });
    default: return scale(part, [&](float value) { return static_cast<float>(lengthy_slope(activation.kind, value)); });
  }
}

bool needs_exponentials(ActivationKind kind) {
  return kind == ActivationKind::softplus || (kind >= ActivationKind::silu && kind != ActivationKind::hard_swish);
}

Result<std::vector<Estimate>> describe_activation(const GradientProblem& problem, const DeviceSpec& spec) {
  const auto* own = std::get_if<ActivationProblem>(&problem.layer);
  if (own == nullptr) return refusal("cpu.grad.activation", "gradients of activations", problem);
  const bool lengthy = needs_exponentials(own->activation.kind);
  const double flops = lengthy ? scalar_flops(lengthy_cycles, spec) : vector_flops(3.0, spec);
  return streaming_gradients(problem, spec, float_formats(spec), flops);
}

class ActivationGradient final : public PreparedGradient {
 public:
  ActivationGradient(Activation activation, bool past_caches, Executor& executor)
      : activation_(activation), past_caches_(past_caches), executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena&) override {
    const TensorView& saved = activation_.kind == ActivationKind::none ? views.output : views.saved;
    const TensorView read[] = {views.output, saved};
    for_each_run(executor_, views.gradient, read, blocks_of(views.gradient), [&](const Run& run, int) {
      scale_by_slope(activation_,
                     {run_of(views.output, run), run_of(saved, run), run_of(views.gradient, run), past_caches_});
    });
    return {};
  }

 private:
  Activation activation_;
  bool past_caches_;
  Executor& executor_;
};

// What the workers' caches do not hold is written past them.
Result<std::unique_ptr<PreparedGradient>> prepare_activation(const GradientProblem& problem, const Estimate& chosen,
                                                             const LayerWeights&, Arena&, Device& device) {
  const Activation activation = std::get<ActivationProblem>(problem.layer).activation;
  const std::int64_t bytes = tensor_bytes(gradient_shape(problem), chosen.out);
  const bool past_caches = bytes > device.spec().l2_bytes * device.spec().threads;
  return std::unique_ptr<PreparedGradient>(
      std::make_unique<ActivationGradient>(activation, past_caches, device.executor()));
}

}  // namespace

extern constinit const GradientPrimitive grad_activation{"cpu.grad.activation", 2, DeviceKind::cpu,
                                                         &describe_activation, &prepare_activation};

}  // namespace znni::cpu
