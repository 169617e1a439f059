// The activations of primitives/core/problem.hpp, for kernels. `Math` supplies exp, expm1 and tanh: those of the
// device in kernels, those of the C library on the host. NaN stays NaN.
#pragma once

namespace znni::cuda {

// In the order of ActivationKind.
enum class Act : int { none, relu, leaky_relu, elu, sigmoid, tanh };

template <class Math>
constexpr float activate(Act act, float alpha, float x) {
  switch (act) {
    case Act::none: return x;
    case Act::relu: return x < 0.0F ? 0.0F : x;
    case Act::leaky_relu: return x < 0.0F ? alpha * x : x;
    case Act::elu: return x < 0.0F ? alpha * Math::expm1(x) : x;
    case Act::sigmoid: return 1.0F / (1.0F + Math::exp(-x));
    case Act::tanh: return Math::tanh(x);
  }
  return x;
}

}  // namespace znni::cuda
