#include "tests/oracle/gradients.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "primitives/core/fragments.hpp"

namespace znni::oracle {
namespace {

// Returns the index of a voxel in a dense planar tensor.
std::size_t place(const Shape5& shape, std::int64_t s, std::int64_t j, Vec3 v) {
  return static_cast<std::size_t>((((s * shape.f + j) * shape.n.z + v.z) * shape.n.y + v.y) * shape.n.x + v.x);
}

Values zeros(std::int64_t count) { return Values(static_cast<std::size_t>(count), 0.0); }

// Calls body(s, j, v) for every voxel of a tensor.
template <class Body>
void for_each_voxel(const Shape5& shape, const Body& body) {
  for (std::int64_t channel = 0; channel < shape.S * shape.f; ++channel) {
    for (std::int64_t i = 0; i < voxels(shape.n); ++i) {
      body(channel / shape.f, channel % shape.f,
           Vec3{i / (shape.n.y * shape.n.x), i / shape.n.x % shape.n.y, i % shape.n.x});
    }
  }
}

// Returns the gradient before an activation of `before`, given that behind it.
Values through(Activation activation, const Values& before, const Values& behind) {
  Values gradient = behind;
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] *= slope_exactly(activation, before[i]);
  return gradient;
}

// Returns what the layer computes without its activation.
template <class Problem>
Values before_activation(Problem problem, std::span<const Values> inputs, const LayerWeights& weights) {
  problem.activation = {};
  return oracle_run(problem, inputs, weights);
}

// Adds what one output voxel, whose derivative is `by`, has of the gradients of kernels and input.
void add_voxel(const ConvProblem& conv, std::span<const Values> inputs, const LayerWeights& weights, std::int64_t s,
               std::int64_t j, Vec3 v, double by, Gradients& sums) {
  const std::int64_t f = conv.in.f / conv.groups;
  const std::int64_t first = j / (conv.f_out / conv.groups) * f;
  for_each_voxel({1, f, conv.k}, [&](std::int64_t, std::int64_t i, Vec3 d) {
    const std::size_t from = place(conv.in, s, first + i, conv.stride * v + conv.dilation * d);
    const std::size_t tap = place({conv.f_out, f, conv.k}, j, i, d);
    sums.kernels[tap] += by * inputs[0][from];
    sums.inputs[0][from] += by * weights.kernels[tap];
  });
}

Gradients of(const ConvProblem& conv, std::span<const Values> inputs, const LayerWeights& weights,
             const Values& output) {
  const Values by = through(conv.activation, before_activation(conv, inputs, weights), output);
  Gradients sums{{zeros(elements(conv.in))}, zeros(conv.f_out * terms_of(conv)), zeros(conv.f_out)};
  if (conv.residual) sums.inputs.push_back(by);
  const Shape5 out = output_shape(conv);
  for_each_voxel(out, [&](std::int64_t s, std::int64_t j, Vec3 v) {
    const double here = by[place(out, s, j, v)];
    sums.bias[static_cast<std::size_t>(j)] += here;
    add_voxel(conv, inputs, weights, s, j, v, here, sums);
  });
  return sums;
}

// Returns the voxel of its first maximum, from that on at which the window begins.
Vec3 first_maximum(const PoolProblem& pool, const Values& in, std::int64_t s, std::int64_t j, Vec3 start) {
  Vec3 best;
  for_each_voxel({1, 1, pool.window}, [&](std::int64_t, std::int64_t, Vec3 d) {
    const Vec3 at = d * pool.dilation;
    if (in[place(pool.in, s, j, start + at)] > in[place(pool.in, s, j, start + best)]) best = at;
  });
  return best;
}

// Adds what one output voxel has of the gradient of a window that begins at `start`.
void add_window(const PoolProblem& pool, const Values& in, std::int64_t s, std::int64_t j, Vec3 start, double by,
                Values& gradient) {
  if (pool.kind == PoolKind::max) {
    gradient[place(pool.in, s, j, start + first_maximum(pool, in, s, j, start))] += by;
    return;
  }
  std::vector<std::size_t> counted;
  for_each_voxel({1, 1, pool.window}, [&](std::int64_t, std::int64_t, Vec3 d) {
    const std::size_t at = place(pool.in, s, j, start + d * pool.dilation);
    const bool is_outside = pool.kind == PoolKind::average_inside && std::isinf(in[at]) && in[at] < 0.0;
    if (!is_outside) counted.push_back(at);
  });
  for (const std::size_t at : counted) gradient[at] += by / static_cast<double>(counted.size());
}

Gradients of(const PoolProblem& pool, std::span<const Values> inputs, const LayerWeights&, const Values& output) {
  Values gradient = zeros(elements(pool.in));
  const Shape5 out = output_shape(pool);
  const Vec3 offsets = pooled_offsets(pool);
  const std::int64_t before = voxels(pool.fragments);
  for_each_voxel(out, [&](std::int64_t s_out, std::int64_t j, Vec3 v) {
    // The fragment's index along each axis has the new offset as its most significant digit.
    const bool plain = pool.mode == PoolMode::plain;
    const std::int64_t made = plain ? 1 : before * voxels(offsets);
    const Vec3 index = plain ? Vec3{} : fragment_at(s_out % made, pool.fragments * offsets);
    const std::int64_t s =
        plain ? s_out : s_out / made * before + fragment_index(index % pool.fragments, pool.fragments);
    const Vec3 offset = plain ? Vec3{} : index / pool.fragments;
    add_window(pool, inputs[0], s, j, pool.stride * v + offset, output[place(out, s_out, j, v)], gradient);
  });
  return {{gradient}, {}, {}};
}

Gradients of(const ActivationProblem& problem, std::span<const Values> inputs, const LayerWeights&,
             const Values& output) {
  return {{through(problem.activation, inputs[0], output)}, {}, {}};
}

Gradients of(const AddProblem& problem, std::span<const Values> inputs, const LayerWeights& weights,
             const Values& output) {
  const Values by = through(problem.activation, before_activation(problem, inputs, weights), output);
  return {std::vector<Values>(inputs.size(), by), {}, {}};
}

Gradients of(const ConcatProblem& concat, std::span<const Values> inputs, const LayerWeights&, const Values& output) {
  const Shape5 out = output_shape(concat);
  Gradients found;
  std::int64_t first = 0;
  for (std::size_t index = 0; index < inputs.size(); ++index) {
    const Shape5& in = concat.in[index];
    found.inputs.push_back(zeros(elements(in)));
    for_each_voxel(in, [&](std::int64_t s, std::int64_t i, Vec3 v) {
      found.inputs.back()[place(in, s, i, v)] = output[place(out, s, first + i, v)];
    });
    first += in.f;
  }
  return found;
}

Gradients of(const CropProblem& crop, std::span<const Values>, const LayerWeights&, const Values& output) {
  const Shape5 out = output_shape(crop);
  Values gradient = zeros(elements(crop.in));
  for_each_voxel(out, [&](std::int64_t s, std::int64_t j, Vec3 v) {
    gradient[place(crop.in, s, j, crop.begin + v)] = output[place(out, s, j, v)];
  });
  return {{gradient}, {}, {}};
}

// Computes the gradients. With y the softmax: dL/dx[i] = y[i] (g[i] - sum over j of y[j] g[j]), and of the logarithm
// g[i] - y[i] sum over j of g[j].
Gradients of(const AcrossChannelsProblem& problem, std::span<const Values> inputs, const LayerWeights& weights,
             const Values& output) {
  const bool is_log = problem.kind == AcrossKind::log_softmax;
  ensure(is_log || problem.kind == AcrossKind::softmax, "the oracle has no gradient of this operation over channels");
  const Values y = oracle_run(AcrossChannelsProblem{problem.in}, inputs, weights);
  Values gradient = zeros(elements(problem.in));
  for_each_voxel(problem.in, [&](std::int64_t s, std::int64_t i, Vec3 v) {
    double sum = 0.0;
    for (std::int64_t j = 0; j < problem.in.f; ++j) {
      const std::size_t at = place(problem.in, s, j, v);
      sum += (is_log ? 1.0 : y[at]) * output[at];
    }
    const std::size_t at = place(problem.in, s, i, v);
    gradient[at] = is_log ? output[at] - y[at] * sum : y[at] * (output[at] - sum);
  });
  return {{gradient}, {}, {}};
}

// Computes the gradients. With x the input: dL/dx = g above 0, else slope g; dL/dslope sums g x below 0.
Gradients of(const PReluProblem& problem, std::span<const Values> inputs, const LayerWeights& weights,
             const Values& output) {
  Gradients found{{output}, {}, {}, zeros(problem.in.f)};
  for_each_voxel(problem.in, [&](std::int64_t s, std::int64_t i, Vec3 v) {
    const std::size_t at = place(problem.in, s, i, v);
    if (inputs[0][at] > 0.0) return;
    const auto channel = static_cast<std::size_t>(i);
    found.inputs[0][at] *= static_cast<double>(weights.scale[channel]);
    found.scale[channel] += output[at] * inputs[0][at];
  });
  return found;
}

// Computes the gradients: dL/dx = scale g; dL/dscale sums g x, dL/dshift sums g.
Gradients of(const ScaleShiftProblem& problem, std::span<const Values> inputs, const LayerWeights& weights,
             const Values& output) {
  Gradients found{{output}, {}, zeros(problem.in.f), zeros(problem.in.f)};
  for_each_voxel(problem.in, [&](std::int64_t s, std::int64_t i, Vec3 v) {
    const std::size_t at = place(problem.in, s, i, v);
    const auto channel = static_cast<std::size_t>(i);
    found.inputs[0][at] *= static_cast<double>(weights.scale[channel]);
    found.scale[channel] += output[at] * inputs[0][at];
    found.bias[channel] += output[at];
  });
  return found;
}

Gradients of(const MultiplyProblem& product, std::span<const Values> inputs, const LayerWeights&,
             const Values& output) {
  const Shape5 other{product.in.S, product.f_other, product.in.n};
  Gradients found{{zeros(elements(product.in)), zeros(elements(other))}, {}, {}};
  for_each_voxel(product.in, [&](std::int64_t s, std::int64_t i, Vec3 v) {
    const std::size_t at = place(product.in, s, i, v);
    const std::size_t by = place(other, s, product.f_other == 1 ? 0 : i, v);
    found.inputs[0][at] += output[at] * inputs[1][by];
    found.inputs[1][by] += output[at] * inputs[0][at];
  });
  return found;
}

// Computes the gradients: of q = a / b, dL/da = g / b, and dL/db = -g a / b^2.
Gradients of(const DivideProblem& quotient, std::span<const Values> inputs, const LayerWeights&, const Values& output) {
  const Shape5 other{quotient.in.S, quotient.f_other, quotient.in.n};
  Gradients found{{zeros(elements(quotient.in)), zeros(elements(other))}, {}, {}};
  for_each_voxel(quotient.in, [&](std::int64_t s, std::int64_t i, Vec3 v) {
    const std::size_t at = place(quotient.in, s, i, v);
    const std::size_t by = place(other, s, quotient.f_other == 1 ? 0 : i, v);
    found.inputs[0][at] += output[at] / inputs[1][by];
    found.inputs[1][by] -= output[at] * inputs[0][at] / (inputs[1][by] * inputs[1][by]);
  });
  return found;
}

// Returns the share that input voxel `from` has in output voxel `to`, along an axis.
double share_of(const UpsampleProblem& upsample, std::int64_t factor, std::int64_t from, std::int64_t to) {
  if (upsample.kind == UpsampleKind::nearest || factor == 1) return from == to / factor ? 1.0 : 0.0;
  const double middle = (static_cast<double>(to) + 0.5) / static_cast<double>(factor) + 0.5;
  return std::max(0.0, 1.0 - std::abs(middle - static_cast<double>(from)));
}

Values of_shuffle(const UpsampleProblem& upsample, const Values& output) {
  const Shape5 out = output_shape(upsample);
  Values gradient = zeros(elements(upsample.in));
  for_each_voxel(out, [&](std::int64_t s, std::int64_t j, Vec3 v) {
    const Vec3 offset = v % upsample.factor;
    const std::int64_t phase = (offset.z * upsample.factor.y + offset.y) * upsample.factor.x + offset.x;
    gradient[place(upsample.in, s, phase * out.f + j, v / upsample.factor)] = output[place(out, s, j, v)];
  });
  return gradient;
}

// An output voxel reads the voxels of the input from v / factor on, 3 per axis at most.
Gradients of(const UpsampleProblem& upsample, std::span<const Values>, const LayerWeights&, const Values& output) {
  ensure(upsample.kind != UpsampleKind::aligned, "the oracle has no gradient of upsamplings that align corners");
  if (upsample.kind == UpsampleKind::shuffle) return {{of_shuffle(upsample, output)}, {}, {}};
  const Shape5 out = output_shape(upsample);
  Values gradient = zeros(elements(upsample.in));
  for_each_voxel(out, [&](std::int64_t s, std::int64_t j, Vec3 v) {
    for_each_voxel({1, 1, Vec3::cube(3)}, [&](std::int64_t, std::int64_t, Vec3 d) {
      const Vec3 from = v / upsample.factor + d;
      double share = 1.0;
      for (int axis = 0; axis < 3; ++axis) share *= share_of(upsample, upsample.factor[axis], from[axis], v[axis]);
      if (share > 0.0) gradient[place(upsample.in, s, j, from)] += share * output[place(out, s, j, v)];
    });
  });
  return {{gradient}, {}, {}};
}

template <class Problem>
Gradients of(const Problem&, std::span<const Values>, const LayerWeights&, const Values&) {
  ensure(false, "the oracle has no gradients of this kind of layer");
  return {};
}

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

// Returns the derivative of x tanh(softplus(x)).
double mish_slope(double x) {
  const double factor = std::tanh(apply_exactly({ActivationKind::softplus, 0}, x));
  return factor + x * (1.0 - factor * factor) * sigmoid(x);
}

double gelu_slope(double x) {
  const double density = std::exp(-0.5 * x * x) / std::sqrt(2.0 * std::numbers::pi);
  return 0.5 * std::erfc(-x * std::sqrt(0.5)) + x * density;
}

double gelu_tanh_slope(double x) {
  const double scale = std::sqrt(2.0 / std::numbers::pi);
  const double factor = std::tanh(scale * (x + 0.044715 * x * x * x));
  return 0.5 * (1.0 + factor) + 0.5 * x * (1.0 - factor * factor) * scale * (1.0 + 3.0 * 0.044715 * x * x);
}

}  // namespace

Gradients gradients(const LayerProblem& problem, std::span<const Values> inputs, const LayerWeights& weights,
                    const Values& output) {
  ensure(static_cast<std::int64_t>(output.size()) == elements(output_shape(problem)), "a derivative by every output");
  return std::visit([&](const auto& one) { return of(one, inputs, weights, output); }, problem);
}

double slope_exactly(Activation activation, double x) {
  const double alpha = activation.alpha;
  switch (activation.kind) {
    case ActivationKind::none: return 1.0;
    case ActivationKind::relu: return x > 0.0 ? 1.0 : 0.0;
    case ActivationKind::leaky_relu: return x > 0.0 ? 1.0 : alpha;
    case ActivationKind::elu: return x > 0.0 ? 1.0 : alpha * std::exp(x);
    case ActivationKind::sigmoid: return sigmoid(x) * (1.0 - sigmoid(x));
    case ActivationKind::tanh: return 1.0 - std::tanh(x) * std::tanh(x);
    case ActivationKind::capped_relu: return x > 0.0 && x < alpha ? 1.0 : 0.0;
    case ActivationKind::softplus: return sigmoid(x);
    case ActivationKind::silu: return sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x)));
    case ActivationKind::hard_swish: return x <= -3.0 ? 0.0 : x >= 3.0 ? 1.0 : x / 3.0 + 0.5;
    case ActivationKind::mish: return mish_slope(x);
    case ActivationKind::gelu: return gelu_slope(x);
    case ActivationKind::gelu_tanh: return gelu_tanh_slope(x);
  }
  return 1.0;
}

}  // namespace znni::oracle
