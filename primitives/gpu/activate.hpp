// The activations of primitives/core/activation.hpp, for kernels. `Math` supplies exp, expm1, tanh, log1p, erfc and
// sqrt: those of the device in kernels, those of the C library on the host. It also supplies activate_apart(), by the
// template below: in kernels a function that is called, because kernels hold many copies of activate(). NaN stays NaN.
#pragma once

namespace znni::cuda {

// In the order of ActivationKind.
enum class Act : int {
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

constexpr float capped_relu(float x, float most) {
  const float least = x < 0.0F ? 0.0F : x;
  return least > most ? most : least;
}

template <class Math>
constexpr float softplus(float x) {
  return (x < 0.0F ? 0.0F : x) + Math::log1p(Math::exp(x < 0.0F ? x : -x));
}

template <class Math>
constexpr float sigmoid(float x) {
  return 1.0F / (1.0F + Math::exp(-x));
}

// Returns tanh(softplus(x)), of e^-|x|, which does not overflow.
template <class Math>
constexpr float mish_gate(float x) {
  const float e = Math::exp(x < 0.0F ? x : -x);
  const float upper = x < 0.0F ? e * (e + 2.0F) : 1.0F + 2.0F * e;
  return upper / (upper + (x < 0.0F ? 2.0F : 2.0F * e * e));
}

// Returns x times its factor; 0 where x is -infinity, too.
constexpr float gated(float x, float gate) { return gate == 0.0F ? 0.0F : x * gate; }

// Computes the activations that take many instructions.
template <class Math>
constexpr float activate_apart(Act act, float x) {
  switch (act) {
    case Act::softplus: return softplus<Math>(x);
    case Act::mish: return gated(x, mish_gate<Math>(x));
    case Act::gelu: return gated(x, 0.5F * Math::erfc(x * -0.707106781F));
    case Act::gelu_tanh: return gated(x, sigmoid<Math>(x * (1.59576912F + 0.0713548163F * x * x)));
    default: return gated(x, sigmoid<Math>(x));
  }
}

template <class Math>
constexpr float activate(Act act, float alpha, float x) {
  switch (act) {
    case Act::none: return x;
    case Act::relu: return x < 0.0F ? 0.0F : x;
    case Act::leaky_relu: return x < 0.0F ? alpha * x : x;
    case Act::elu: return x < 0.0F ? alpha * Math::expm1(x) : x;
    case Act::sigmoid: return sigmoid<Math>(x);
    case Act::tanh: return Math::tanh(x);
    case Act::capped_relu: return capped_relu(x, alpha);
    case Act::hard_swish: return gated(x, capped_relu(x + 3.0F, 6.0F) / 6.0F);
    case Act::softplus:
    case Act::silu:
    case Act::mish:
    case Act::gelu:
    case Act::gelu_tanh: return Math::activate_apart(act, x);
  }
  return x;
}

}  // namespace znni::cuda
