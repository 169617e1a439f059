// Activations: functions of one number that follow a layer.
#pragma once

#include <compare>
#include <string_view>

namespace znni {

// Files and timings name kinds by their numbers and words: new ones stand at the end.
enum class ActivationKind {
  none,
  relu,
  leaky_relu,
  elu,
  sigmoid,
  tanh,
  capped_relu,
  softplus,
  silu,
  hard_swish,
  mish,
  gelu,
  gelu_tanh
};
inline constexpr ActivationKind last_activation_kind = ActivationKind::gelu_tanh;

// y = x (none); max(x, 0) (relu); x < 0 ? alpha x : x (leaky_relu); x < 0 ? alpha (exp(x) - 1) : x (elu);
// 1 / (1 + exp(-x)) (sigmoid); tanh(x); min(max(x, 0), alpha) (capped_relu; ReLU6 has an alpha of 6);
// log(1 + exp(x)) (softplus); x sigmoid(x) (silu); x min(max(x + 3, 0), 6) / 6 (hard_swish); x tanh(softplus(x))
// (mish); x (1 + erf(x / sqrt(2))) / 2 (gelu); x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 (gelu_tanh). NaN stays
// NaN on the CPU, unless oneDNN computes the activation with a convolution. Infinities give the limits, which
// are 0 for the products at -infinity.
struct Activation {
  ActivationKind kind = ActivationKind::none;
  float alpha = 0.0F;

  constexpr auto operator<=>(const Activation&) const = default;
};
[[nodiscard]] float apply(Activation activation, float x);

// Returns whether activations of this kind depend on alpha.
[[nodiscard]] constexpr bool takes_alpha(ActivationKind kind) {
  return kind == ActivationKind::leaky_relu || kind == ActivationKind::elu || kind == ActivationKind::capped_relu;
}
// Returns whether the activation may be smaller for a larger argument, so that it is not the same before and behind a
// max pooling.
[[nodiscard]] bool may_fall(Activation activation);

// Returns the kind's name in files: "leaky_relu".
[[nodiscard]] std::string_view to_string(ActivationKind kind);

}  // namespace znni
