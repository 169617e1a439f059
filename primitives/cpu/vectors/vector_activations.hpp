// Activations in vectors of any instruction set (vectors.hpp), shared by all CPU code that computes them.
//
// Maximum errors in units in the last place, if |result| is at least 2^-126: sigmoid 3, tanh 3, exponential 1, e^x - 1
// (elu is alpha times that) 1. Smaller results become 0 (sigmoid, exponential). Infinities give the limits and NaN
// stays NaN; the sign of a zero may be lost. A value's result does not depend on its position.
#pragma once

#include <cstdint>

#include "primitives/core/problem.hpp"

namespace znni::cpu {

inline __attribute__((always_inline)) bool takes_exponential(ActivationKind kind) {
  return kind == ActivationKind::elu || kind == ActivationKind::sigmoid || kind == ActivationKind::tanh;
}

// e^x = scale (1 + rest), where scale is a power of two.
template <class Isa>
struct SplitExponential {
  typename Isa::V scale;
  typename Isa::V rest;
};

// Splits e^x for x from -87.33654, where e^x is 2^-126, to 0. Below that range the result is arbitrary. Cephes, expf.c.
template <class Isa>
SplitExponential<Isa> split_exponential(typename Isa::V x) {
  using V = typename Isa::V;
  const V shift = Isa::all(0x1.8p23F + 127.0F);  // the last bits of such a sum hold an integer
  const V shifted = Isa::all(1.44269504F) * x + shift;
  const V k = shifted - shift;
  const V r = (x - Isa::all(0.693359375F) * k) + Isa::all(2.12194440e-4F) * k;  // x - k log(2)
  V sum = Isa::all(1.9875691500e-4F) * r + Isa::all(1.3981999507e-3F);
  sum = sum * r + Isa::all(8.3334519073e-3F);
  sum = sum * r + Isa::all(4.1665795894e-2F);
  sum = sum * r + Isa::all(1.6666665459e-1F);
  sum = sum * r + Isa::all(5.0000001201e-1F);
  return {Isa::power(shifted), sum * (r * r) + r};
}

// Returns e^x for x <= 0.
template <class Isa>
typename Isa::V exponential(typename Isa::V x) {
  const auto [scale, rest] = split_exponential<Isa>(x);
  return Isa::where_negative(x + Isa::all(87.3365402F), typename Isa::V{}, scale * rest + scale);
}

// Returns e^x - 1 for x <= 0; below -20 it is -1 to the last bit.
template <class Isa>
typename Isa::V exponential_less_one(typename Isa::V x) {
  const auto [scale, rest] = split_exponential<Isa>(x);
  return Isa::where_negative(x + Isa::all(20.0F), Isa::all(-1.0F), scale * rest + (scale - Isa::all(1.0F)));
}

template <class Isa>
typename Isa::V elu(typename Isa::V x, float alpha) {
  return Isa::where_negative(x, Isa::all(alpha) * exponential_less_one<Isa>(x), x);
}

template <class Isa>
typename Isa::V sigmoid(typename Isa::V x) {
  const auto power = exponential<Isa>(Isa::where_negative(x, x, -x));
  return Isa::where_negative(x, power, Isa::all(1.0F)) / (power + Isa::all(1.0F));
}

template <class Isa>
typename Isa::V hyperbolic_tangent(typename Isa::V x) {
  const auto less = exponential_less_one<Isa>(Isa::where_negative(x, x + x, -(x + x)));
  const auto magnitude = less / (less + Isa::all(2.0F));  // negative
  return Isa::where_negative(x, magnitude, typename Isa::V{} - magnitude);
}

template <class Isa>
typename Isa::V relu(typename Isa::V x) {
  return Isa::larger(x, typename Isa::V{});  // larger() returns its first argument if one is NaN, so NaN stays NaN
}

template <class Isa>
typename Isa::V leaky_relu(typename Isa::V x, float alpha) {
  return Isa::where_negative(x, Isa::all(alpha) * x, x);
}

// Computes values[i] = function(values[i]), by vectors.
template <class Isa, class Function>
void each_vector(float* values, std::int64_t count, const Function& function) {
  const std::int64_t whole = count / Isa::lanes * Isa::lanes;
  for (std::int64_t i = 0; i < whole; i += Isa::lanes) Isa::store(values + i, function(Isa::load(values + i)));
  if (whole == count) return;
  float rest[Isa::lanes] = {};
  for (std::int64_t i = whole; i < count; ++i) rest[i - whole] = values[i];
  Isa::store(rest, function(Isa::load(rest)));
  for (std::int64_t i = whole; i < count; ++i) values[i] = rest[i - whole];
}

// Computes values[i] = activation(values[i]), as problem.hpp defines it.
template <class Isa>
void activate_vectors(Activation activation, float* values, std::int64_t count) {
  using V = typename Isa::V;
  const float alpha = activation.alpha;
  switch (activation.kind) {
    case ActivationKind::none: return;
    case ActivationKind::relu: return each_vector<Isa>(values, count, [](V x) { return relu<Isa>(x); });
    case ActivationKind::leaky_relu:
      return each_vector<Isa>(values, count, [alpha](V x) { return leaky_relu<Isa>(x, alpha); });
    case ActivationKind::elu: return each_vector<Isa>(values, count, [alpha](V x) { return elu<Isa>(x, alpha); });
    case ActivationKind::sigmoid: return each_vector<Isa>(values, count, [](V x) { return sigmoid<Isa>(x); });
    case ActivationKind::tanh: return each_vector<Isa>(values, count, [](V x) { return hyperbolic_tangent<Isa>(x); });
  }
}

}  // namespace znni::cpu
