// Activations in vectors of any instruction set (vectors.hpp), shared by all CPU code that computes them.
//
// Maximum errors in units in the last place, if |result| is at least 2^-126: sigmoid 3, tanh 3, exponential 1, e^x - 1
// (elu is alpha times that) 1, softplus 3, hard_swish 3. Smaller results become 0 (sigmoid, exponential, softplus).
// silu 4, mish 6, gelu 9 (1 + x^2 / 2) and gelu_tanh 4 (1 + |x|^3) units. The error is never more than 6 |x| 2^-24, to
// which |x| 2^-126 comes where the factor of x vanishes. Infinities give the limits and NaN stays NaN; the sign of a
// zero may be lost. A value's result does not depend on its position.
#pragma once

#include <cstdint>

#include "primitives/core/problem.hpp"

namespace znni::cpu {

// Returns whether an activation takes more than two instructions. Code that writes single voxels applies such ones to
// whole rows.
inline __attribute__((always_inline)) bool is_lengthy(ActivationKind kind) { return kind > ActivationKind::leaky_relu; }

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
  const V shift = Isa::broadcast(0x1.8p23F + 127.0F);  // the last bits of such a sum hold an integer
  const V shifted = Isa::broadcast(1.44269504F) * x + shift;
  const V k = shifted - shift;
  const V r = (x - Isa::broadcast(0.693359375F) * k) + Isa::broadcast(2.12194440e-4F) * k;  // x - k log(2)
  V sum = Isa::broadcast(1.9875691500e-4F) * r + Isa::broadcast(1.3981999507e-3F);
  sum = sum * r + Isa::broadcast(8.3334519073e-3F);
  sum = sum * r + Isa::broadcast(4.1665795894e-2F);
  sum = sum * r + Isa::broadcast(1.6666665459e-1F);
  sum = sum * r + Isa::broadcast(5.0000001201e-1F);
  return {Isa::exp2_bits(shifted), sum * (r * r) + r};
}

// Returns e^x for x <= 0.
template <class Isa>
typename Isa::V exponential(typename Isa::V x) {
  const auto [scale, rest] = split_exponential<Isa>(x);
  return Isa::select_negative(x + Isa::broadcast(87.3365402F), typename Isa::V{}, scale * rest + scale);
}

// Returns e^x - 1 for x <= 0; below -20 it is -1 to the last bit.
template <class Isa>
typename Isa::V exponential_less_one(typename Isa::V x) {
  const auto [scale, rest] = split_exponential<Isa>(x);
  return Isa::select_negative(x + Isa::broadcast(20.0F), Isa::broadcast(-1.0F),
                              scale * rest + (scale - Isa::broadcast(1.0F)));
}

template <class Isa>
typename Isa::V elu(typename Isa::V x, float alpha) {
  return Isa::select_negative(x, Isa::broadcast(alpha) * exponential_less_one<Isa>(x), x);
}

template <class Isa>
typename Isa::V sigmoid(typename Isa::V x) {
  const auto power = exponential<Isa>(Isa::select_negative(x, x, -x));
  return Isa::select_negative(x, power, Isa::broadcast(1.0F)) / (power + Isa::broadcast(1.0F));
}

template <class Isa>
typename Isa::V hyperbolic_tangent(typename Isa::V x) {
  const auto less = exponential_less_one<Isa>(Isa::select_negative(x, x + x, -(x + x)));
  const auto magnitude = less / (less + Isa::broadcast(2.0F));  // negative
  return Isa::select_negative(x, magnitude, typename Isa::V{} - magnitude);
}

template <class Isa>
typename Isa::V relu(typename Isa::V x) {
  return Isa::max(x, typename Isa::V{});  // larger() returns its first argument if one is NaN, so NaN stays NaN
}

template <class Isa>
typename Isa::V leaky_relu(typename Isa::V x, float alpha) {
  return Isa::select_negative(x, Isa::broadcast(alpha) * x, x);
}

// Returns the smaller of x and `most`; NaN stays NaN.
template <class Isa>
typename Isa::V capped(typename Isa::V x, float most) {
  return Isa::select_negative(Isa::broadcast(most) - x, Isa::broadcast(most), x);
}

// Returns -|x|.
template <class Isa>
typename Isa::V below_zero(typename Isa::V x) {
  return Isa::select_negative(x, x, -x);
}

// Returns the polynomial of these coefficients, the one of the highest power first.
template <class Isa, int count>
typename Isa::V polynomial(const float (&coefficients)[count], typename Isa::V x) {
  typename Isa::V sum = Isa::broadcast(coefficients[0]);
  for (int i = 1; i < count; ++i) sum = sum * x + Isa::broadcast(coefficients[i]);
  return sum;
}

// Returns log(1 + w) for w in [0, 1]: w - w^2 r(w). The polynomial r was fitted to a relative error of 2^-27 of the
// result.
template <class Isa>
typename Isa::V log_of_one_more(typename Isa::V w) {
  constexpr float r[] = {0.00331846857F, -0.0202045683F, 0.057664413F, -0.106805526F, 0.153553948F,
                         -0.196953997F,  0.249585867F,   -0.33330512F, 0.499999315F};
  return w - w * w * polynomial<Isa>(r, w);
}

template <class Isa>
typename Isa::V softplus(typename Isa::V x) {
  return relu<Isa>(x) + log_of_one_more<Isa>(exponential<Isa>(below_zero<Isa>(x)));
}

// Returns x times its factor; 0 below `least`, where the factor is 0 to the last bit.
template <class Isa>
typename Isa::V gated(typename Isa::V x, typename Isa::V gate, float least) {
  return Isa::select_negative(x - Isa::broadcast(least), typename Isa::V{}, x * gate);
}

template <class Isa>
typename Isa::V silu(typename Isa::V x) {
  return gated<Isa>(x, sigmoid<Isa>(x), -88.0F);
}

template <class Isa>
typename Isa::V hard_swish(typename Isa::V x) {
  return gated<Isa>(x, capped<Isa>(x + Isa::broadcast(3.0F), 6.0F) * Isa::broadcast(1.0F / 6.0F), -3.0F);
}

// Returns x tanh(softplus(x)). The factor tanh(log(1 + w)) is (w^2 + 2w) / (w^2 + 2w + 2) for w = e^x. For x >= 0 it is
// written with e^-x.
template <class Isa>
typename Isa::V mish(typename Isa::V x) {
  using V = typename Isa::V;
  const V e = exponential<Isa>(below_zero<Isa>(x));
  const V upper = Isa::select_negative(x, e * (e + Isa::broadcast(2.0F)), e + e + Isa::broadcast(1.0F));
  const V rest = Isa::select_negative(x, Isa::broadcast(2.0F), (e + e) * e);
  return gated<Isa>(x, upper / (upper + rest), -88.0F);
}

// Returns (1 + erf(x / sqrt(2))) / 2 for x = -t <= 0: e^(-t^2 / 2) u q(u) with u = 1 / (1 + 0.26 t). The polynomial q
// was fitted to a relative error of 2^-25.5 for t up to 13.3, beyond which the exponential is 0.
template <class Isa>
typename Isa::V lower_normal(typename Isa::V x) {
  using V = typename Isa::V;
  constexpr float q[] = {0.0308960732F, -0.154740125F, 0.255466431F, -0.155535683F, 0.164152294F,
                         0.0496425517F, 0.10339132F,   0.102964938F, 0.103762187F};
  const V u = Isa::broadcast(1.0F) / (Isa::broadcast(1.0F) - Isa::broadcast(0.26F) * x);
  return exponential<Isa>(Isa::broadcast(-0.5F) * x * x) * u * polynomial<Isa>(q, u);
}

template <class Isa>
typename Isa::V gelu(typename Isa::V x) {
  const auto lower = lower_normal<Isa>(below_zero<Isa>(x));
  return gated<Isa>(x, Isa::select_negative(x, lower, Isa::broadcast(1.0F) - lower), -14.0F);
}

// Returns gelu by tanh: (1 + tanh(u)) / 2 is the sigmoid of 2u.
template <class Isa>
typename Isa::V gelu_tanh(typename Isa::V x) {
  const auto twice = x * (Isa::broadcast(0.0713548163F) * x * x + Isa::broadcast(1.59576912F));
  return gated<Isa>(x, sigmoid<Isa>(twice), -14.0F);
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

// Computes values[i] = activation(values[i]), as activation.hpp defines it.
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
    case ActivationKind::capped_relu:
      return each_vector<Isa>(values, count, [alpha](V x) { return capped<Isa>(relu<Isa>(x), alpha); });
    case ActivationKind::softplus: return each_vector<Isa>(values, count, [](V x) { return softplus<Isa>(x); });
    case ActivationKind::silu: return each_vector<Isa>(values, count, [](V x) { return silu<Isa>(x); });
    case ActivationKind::hard_swish: return each_vector<Isa>(values, count, [](V x) { return hard_swish<Isa>(x); });
    case ActivationKind::mish: return each_vector<Isa>(values, count, [](V x) { return mish<Isa>(x); });
    case ActivationKind::gelu: return each_vector<Isa>(values, count, [](V x) { return gelu<Isa>(x); });
    case ActivationKind::gelu_tanh: return each_vector<Isa>(values, count, [](V x) { return gelu_tanh<Isa>(x); });
  }
}

}  // namespace znni::cpu
