#include "primitives/core/activation.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace znni {
namespace {

float capped(float x, float most) {
  const float least = x < 0.0F ? 0.0F : x;
  return least > most ? most : least;
}

double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

// Returns the factor that x is multiplied by in an activation.
double gate_of(ActivationKind kind, double x) {
  switch (kind) {
    case ActivationKind::hard_swish: return std::min(std::max(x + 3.0, 0.0), 6.0) / 6.0;
    case ActivationKind::mish: return std::tanh(softplus(x));
    case ActivationKind::gelu: return std::erfc(-x / std::numbers::sqrt2) / 2.0;
    case ActivationKind::gelu_tanh: {
      const double argument = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      return 1.0 / (1.0 + std::exp(-2.0 * argument));
    }
    default: return 1.0 / (1.0 + std::exp(-x));
  }
}

// Returns x times its factor; 0 where x is -infinity, too.
float gated(ActivationKind kind, float x) {
  const double gate = gate_of(kind, x);
  return gate == 0.0 ? 0.0F : static_cast<float>(x * gate);
}

}  // namespace

float apply(Activation activation, float x) {
  switch (activation.kind) {
    case ActivationKind::none: return x;
    case ActivationKind::relu: return x < 0.0F ? 0.0F : x;
    case ActivationKind::leaky_relu: return x < 0.0F ? activation.alpha * x : x;
    case ActivationKind::elu: return x < 0.0F ? activation.alpha * std::expm1(x) : x;
    case ActivationKind::sigmoid: return 1.0F / (1.0F + std::exp(-x));
    case ActivationKind::tanh: return std::tanh(x);
    case ActivationKind::capped_relu: return capped(x, activation.alpha);
    case ActivationKind::softplus: return static_cast<float>(softplus(x));
    case ActivationKind::silu:
    case ActivationKind::hard_swish:
    case ActivationKind::mish:
    case ActivationKind::gelu:
    case ActivationKind::gelu_tanh: return gated(activation.kind, x);
  }
  return x;
}

bool may_fall(Activation activation) {
  switch (activation.kind) {
    case ActivationKind::leaky_relu:
    case ActivationKind::elu: return activation.alpha < 0;
    case ActivationKind::silu:
    case ActivationKind::hard_swish:
    case ActivationKind::mish:
    case ActivationKind::gelu:
    case ActivationKind::gelu_tanh: return true;
    default: return false;
  }
}

std::string_view to_string(ActivationKind kind) {
  static constexpr std::array<std::string_view, 13> names = {"none", "relu",        "leaky_relu", "elu",  "sigmoid",
                                                             "tanh", "capped_relu", "softplus",   "silu", "hard_swish",
                                                             "mish", "gelu",        "gelu_tanh"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace znni
