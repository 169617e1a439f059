#include "tests/oracle/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "primitives/core/fragments.hpp"
#include "tests/oracle/norms.hpp"
#include "tests/oracle/stacks.hpp"

namespace znni::oracle {
namespace {

// Dense planar tensor of doubles with index arithmetic.
struct Tensor {
  Shape5 shape;
  Values values;

  explicit Tensor(const Shape5& s, double fill = 0.0) : shape(s), values(static_cast<std::size_t>(elements(s)), fill) {}
  Tensor(const Shape5& s, Values v) : shape(s), values(std::move(v)) {
    ensure(static_cast<std::int64_t>(values.size()) == elements(shape), "values do not fill their shape");
  }
  double* row(std::int64_t s, std::int64_t j, std::int64_t z, std::int64_t y) {
    return values.data() + (((s * shape.f + j) * shape.n.z + z) * shape.n.y + y) * shape.n.x;
  }
  const double* row(std::int64_t s, std::int64_t j, std::int64_t z, std::int64_t y) const {
    return const_cast<Tensor*>(this)->row(s, j, z, y);
  }
  double at(std::int64_t s, std::int64_t j, Vec3 v) const { return row(s, j, v.z, v.y)[v.x]; }
  double& at(std::int64_t s, std::int64_t j, Vec3 v) { return row(s, j, v.z, v.y)[v.x]; }
};

// Calls body(Vec3) for every position of an extent.
template <class Body>
void for_each(Vec3 n, const Body& body) {
  for (Vec3 v; v.z < n.z; ++v.z) {
    for (v.y = 0; v.y < n.y; ++v.y) {
      for (v.x = 0; v.x < n.x; ++v.x) body(v);
    }
  }
}

// Computes out[s][j][v] += weight * in[s][i][stride * v + shift] for every v.
void add_shifted(const Tensor& in, Tensor& out, std::int64_t s, std::int64_t i, std::int64_t j, Vec3 stride, Vec3 shift,
                 double weight) {
  for (std::int64_t z = 0; z < out.shape.n.z; ++z) {
    for (std::int64_t y = 0; y < out.shape.n.y; ++y) {
      const double* from = in.row(s, i, stride.z * z + shift.z, stride.y * y + shift.y) + shift.x;
      double* to = out.row(s, j, z, y);
      for (std::int64_t x = 0; x < out.shape.n.x; ++x) to[x] += weight * from[stride.x * x];
    }
  }
}

void activate(Activation activation, Values& values) {
  for (double& value : values) value = apply_exactly(activation, value);
}

void add(const Values& from, Values& to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

Values run(const ConvProblem& conv, std::span<const Values> inputs, const LayerWeights& weights) {
  const Tensor in(conv.in, inputs[0]);
  Tensor out(output_shape(conv));
  for (std::int64_t s = 0; s < conv.in.S; ++s) {
    for (std::int64_t j = 0; j < conv.f_out; ++j) {
      const double bias = weights.bias.empty() ? 0.0 : weights.bias[static_cast<std::size_t>(j)];
      for_each(out.shape.n, [&](Vec3 v) { out.at(s, j, v) = bias; });
      const std::int64_t f = conv.in.f / conv.groups;
      const std::int64_t first = j / (conv.f_out / conv.groups) * f;
      for (std::int64_t i = 0; i < f; ++i) {
        const float* kernel = weights.kernels.data() + (j * f + i) * voxels(conv.k);
        for_each(conv.k,
                 [&](Vec3 d) { add_shifted(in, out, s, first + i, j, conv.stride, d * conv.dilation, *kernel++); });
      }
    }
  }
  if (conv.residual) add(inputs[1], out.values);
  activate(conv.activation, out.values);
  return std::move(out.values);
}

// Returns the larger of two values; NaN if one of them is.
double larger(double a, double b) { return std::isnan(b) || b > a ? b : a; }

double pool_at(const Tensor& in, const PoolProblem& pool, std::int64_t s, std::int64_t j, Vec3 start) {
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  double most = lowest;
  double sum = 0.0;
  std::int64_t count = 0;
  for_each(pool.window, [&](Vec3 d) {
    const double value = in.at(s, j, start + d * pool.dilation);
    most = larger(most, value);
    if (pool.kind == PoolKind::average_inside && value == lowest) return;
    sum += value;
    ++count;
  });
  if (pool.kind == PoolKind::max) return most;
  return count == 0 ? 0.0 : sum / static_cast<double>(count);
}

// Returns the input that a pooling at `offset` of input s makes: its fragment index has the offset as most significant
// digit along each axis.
std::int64_t pooled_input(const PoolProblem& pool, std::int64_t s, Vec3 offset) {
  if (pool.mode == PoolMode::plain) return s;
  const std::int64_t before = voxels(pool.fragments);
  const Vec3 index = offset * pool.fragments + fragment_at(s % before, pool.fragments);
  const Vec3 offsets = pool.stride / pool.groups;
  return s / before * before * voxels(offsets) + fragment_index(index, pool.fragments * offsets);
}

Values run(const PoolProblem& pool, std::span<const Values> inputs, const LayerWeights&) {
  const Tensor in(pool.in, inputs[0]);
  Tensor out(output_shape(pool));
  const Vec3 offsets = pool.mode == PoolMode::plain ? Vec3::cube(1) : pool.stride / pool.groups;
  for (std::int64_t s = 0; s < pool.in.S; ++s) {
    for_each(offsets, [&](Vec3 offset) {
      const std::int64_t s_out = pooled_input(pool, s, offset);
      for (std::int64_t j = 0; j < pool.in.f; ++j) {
        for_each(out.shape.n, [&](Vec3 v) { out.at(s_out, j, v) = pool_at(in, pool, s, j, v * pool.stride + offset); });
      }
    });
  }
  return std::move(out.values);
}

Values run(const ConvPoolProblem& both, std::span<const Values> inputs, const LayerWeights& weights) {
  const Values between = run(both.conv, inputs, weights);
  return run(both.pool, std::span(&between, 1), {});
}

Values run(const ActivationProblem& problem, std::span<const Values> inputs, const LayerWeights&) {
  Values out = inputs[0];
  activate(problem.activation, out);
  return out;
}

// Returns what becomes of the channels of a voxel.
Values across(const AcrossChannelsProblem& problem, Values x) {
  if (std::any_of(x.begin(), x.end(), [](double value) { return std::isnan(value); })) {
    return Values(makes_one_channel(problem.kind) ? 1 : x.size(), std::numeric_limits<double>::quiet_NaN());
  }
  const double most = *std::max_element(x.begin(), x.end());
  if (problem.kind == AcrossKind::arg_max) {
    return {static_cast<double>(std::find(x.begin(), x.end(), most) - x.begin())};
  }
  if (problem.kind == AcrossKind::arg_max_last) {
    return {static_cast<double>(x.rend() - std::find(x.rbegin(), x.rend(), most) - 1)};
  }
  if (problem.kind == AcrossKind::unit) {
    const double length = std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
    for (double& value : x) value /= std::max(length, static_cast<double>(problem.epsilon));
    return x;
  }
  if (problem.kind == AcrossKind::norm) {
    const auto count = static_cast<std::int64_t>(x.size());
    const auto [mean, deviation] = moments(x.data(), count, static_cast<double>(problem.epsilon));
    for (double& value : x) value = (value - mean) / deviation;
    return x;
  }
  double sum = 0.0;
  for (const double value : x) sum += std::exp(value - most);
  const bool is_log = problem.kind == AcrossKind::log_softmax;
  for (double& value : x) value = is_log ? value - most - std::log(sum) : std::exp(value - most) / sum;
  return x;
}

Values run(const AcrossChannelsProblem& problem, std::span<const Values> inputs, const LayerWeights&) {
  const Tensor in(problem.in, inputs[0]);
  Tensor out(output_shape(problem));
  for (std::int64_t s = 0; s < problem.in.S; ++s) {
    for_each(problem.in.n, [&](Vec3 v) {
      Values x;
      for (std::int64_t j = 0; j < problem.in.f; ++j) x.push_back(in.at(s, j, v));
      const Values made = across(problem, std::move(x));
      for (std::int64_t j = 0; j < out.shape.f; ++j) out.at(s, j, v) = made[static_cast<std::size_t>(j)];
    });
  }
  return std::move(out.values);
}

Values run(const ScaleShiftProblem& problem, std::span<const Values> inputs, const LayerWeights& weights) {
  Tensor out(problem.in, inputs[0]);
  for (std::int64_t s = 0; s < problem.in.S; ++s) {
    for (std::int64_t i = 0; i < problem.in.f; ++i) {
      const auto channel = static_cast<std::size_t>(i);
      for_each(problem.in.n, [&](Vec3 v) {
        out.at(s, i, v) = static_cast<double>(weights.scale[channel]) * out.at(s, i, v) + weights.shift[channel];
      });
    }
  }
  return std::move(out.values);
}

Values run(const PReluProblem& problem, std::span<const Values> inputs, const LayerWeights& weights) {
  Tensor out(problem.in, inputs[0]);
  for (std::int64_t s = 0; s < problem.in.S; ++s) {
    for (std::int64_t i = 0; i < problem.in.f; ++i) {
      const auto slope = static_cast<double>(weights.scale[static_cast<std::size_t>(i)]);
      for_each(problem.in.n, [&](Vec3 v) {
        double& value = out.at(s, i, v);
        if (value < 0) value *= slope;
      });
    }
  }
  return std::move(out.values);
}

Values run(const NormProblem& problem, std::span<const Values> inputs, const LayerWeights& weights) {
  Values out = normalised(problem, inputs[0], weights);
  activate(problem.activation, out);
  return out;
}

Values run(const AttentionProblem& problem, std::span<const Values> inputs, const LayerWeights&) {
  return attended(problem, inputs);
}

Values run(const StackProblem& problem, std::span<const Values> inputs, const LayerWeights& weights) {
  return stacked(problem, inputs[0], weights);
}

Values run(const AddVolumeProblem& problem, std::span<const Values> inputs, const LayerWeights& weights) {
  Values out = inputs[0];
  const auto own = static_cast<std::size_t>(elements(problem.in) / problem.in.S);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += static_cast<double>(weights.shift[i % own]);
  return out;
}

Values run(const GlobalPoolProblem& problem, std::span<const Values> inputs, const LayerWeights&) {
  Values out = inputs[0];
  const std::int64_t count = voxels(problem.in.n);
  for (auto first = out.begin(); first != out.end(); first += count) {
    const auto end = first + count;
    const double pooled = problem.kind == PoolKind::max ? std::accumulate(first, end, *first, larger)
                                                        : std::accumulate(first, end, 0.0) / static_cast<double>(count);
    std::fill(first, end, pooled);
  }
  return out;
}

// Applies `join` to each value of the first input and that of the second, of which one channel may stand for all.
Values joined(const Shape5& in, std::int64_t f_other, std::span<const Values> inputs, double (*join)(double, double)) {
  Values out = inputs[0];
  const auto count = static_cast<std::size_t>(voxels(in.n));
  const auto f = static_cast<std::size_t>(in.f);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t channel = i / count;
    const std::size_t other = f_other == 1 ? channel / f : channel;
    out[i] = join(out[i], inputs[1][other * count + i % count]);
  }
  return out;
}

Values run(const MultiplyProblem& problem, std::span<const Values> inputs, const LayerWeights&) {
  return joined(problem.in, problem.f_other, inputs, [](double a, double b) { return a * b; });
}

Values run(const DivideProblem& problem, std::span<const Values> inputs, const LayerWeights&) {
  return joined(problem.in, problem.f_other, inputs, [](double a, double b) { return a / b; });
}

Values run(const AddProblem& problem, std::span<const Values> inputs, const LayerWeights&) {
  Values out = inputs[0];
  for (std::size_t input = 1; input < inputs.size(); ++input) add(inputs[input], out);
  activate(problem.activation, out);
  return out;
}

Values run(const ConcatProblem& problem, std::span<const Values> inputs, const LayerWeights&) {
  Values out;
  for (std::int64_t s = 0; s < problem.in[0].S; ++s) {
    for (std::size_t input = 0; input < inputs.size(); ++input) {
      const std::int64_t count = problem.in[input].f * voxels(problem.in[input].n);
      const auto first = inputs[input].begin() + s * count;
      out.insert(out.end(), first, first + count);
    }
  }
  return out;
}

Values run(const CropProblem& crop, std::span<const Values> inputs, const LayerWeights&) {
  const Tensor in(crop.in, inputs[0]);
  Tensor out(output_shape(crop));
  for (std::int64_t s = 0; s < crop.in.S; ++s) {
    for (std::int64_t j = 0; j < crop.in.f; ++j) {
      for_each(out.shape.n, [&](Vec3 v) { out.at(s, j, v) = in.at(s, j, crop.begin + v); });
    }
  }
  return std::move(out.values);
}

// Returns the value at voxel v of a linear upsampling: of voxels around, each weighs less by its distance per axis.
double interpolated(const UpsampleProblem& problem, const Tensor& in, std::int64_t s, std::int64_t j, Vec3 v) {
  double sum = 0;
  for (std::int64_t neighbour = 0; neighbour < 27; ++neighbour) {
    const Vec3 beside{neighbour / 9, neighbour / 3 % 3, neighbour % 3};
    double weight = 1;
    bool is_read = true;
    for (int axis = 0; axis < 3; ++axis) {
      const auto factor = static_cast<double>(problem.factor[axis]);
      const double at = (static_cast<double>(v[axis] % problem.factor[axis]) + 0.5) / factor + 0.5;
      is_read = is_read && (problem.factor[axis] > 1 || beside[axis] == 0);
      if (problem.factor[axis] > 1) weight *= std::max(0.0, 1.0 - std::abs(at - static_cast<double>(beside[axis])));
    }
    if (is_read && weight > 0) sum += weight * in.at(s, j, v / problem.factor + beside);
  }
  return sum;
}

// Returns the value at voxel v of an upsampling with aligned corners: of the eight around its place.
double aligned(const UpsampleProblem& problem, const Tensor& in, std::int64_t s, std::int64_t j, Vec3 v) {
  double sum = 0;
  for (std::int64_t corner = 0; corner < 8; ++corner) {
    double weight = 1;
    Vec3 from;
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t n = problem.in.n[axis];
      const double last = std::max(1.0, static_cast<double>(n * problem.factor[axis] - 1));
      const double at = static_cast<double>(v[axis]) * static_cast<double>(n - 1) / last;
      const bool upper = (corner >> axis) % 2 == 1;
      const double below = std::floor(at);
      from[axis] = std::min(static_cast<std::int64_t>(below) + (upper ? 1 : 0), n - 1);
      weight *= upper ? at - below : 1.0 - (at - below);
    }
    if (weight > 0) sum += weight * in.at(s, j, from);
  }
  return sum;
}

double upsampled(const UpsampleProblem& problem, const Tensor& in, std::int64_t s, std::int64_t j, Vec3 v) {
  const Vec3 factor = problem.factor;
  if (problem.kind == UpsampleKind::nearest) return in.at(s, j, v / factor);
  if (problem.kind == UpsampleKind::linear) return interpolated(problem, in, s, j, v);
  if (problem.kind == UpsampleKind::aligned) return aligned(problem, in, s, j, v);
  const Vec3 offset = v % factor;
  const std::int64_t phase = (offset.z * factor.y + offset.y) * factor.x + offset.x;
  return in.at(s, phase * output_shape(problem).f + j, v / factor);
}

Values run(const UpsampleProblem& problem, std::span<const Values> inputs, const LayerWeights&) {
  const Tensor in(problem.in, inputs[0]);
  Tensor out(output_shape(problem));
  for (std::int64_t s = 0; s < out.shape.S; ++s) {
    for (std::int64_t j = 0; j < out.shape.f; ++j) {
      for_each(out.shape.n, [&](Vec3 v) { out.at(s, j, v) = upsampled(problem, in, s, j, v); });
    }
  }
  return std::move(out.values);
}

Values run(const ReorderProblem&, std::span<const Values> inputs, const LayerWeights&) { return inputs[0]; }

}  // namespace

Values oracle_run(const LayerProblem& problem, std::span<const Values> inputs, const LayerWeights& weights) {
  ensure(static_cast<int>(inputs.size()) == input_count(problem), "the oracle needs every input of the problem");
  return std::visit([&](const auto& one) { return run(one, inputs, weights); }, problem);
}

namespace {

double softplus(double x) { return x > 0.0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

// Returns x sigmoid(y); 0 where the sigmoid is 0.
double times_sigmoid(double x, double y) {
  const double power = std::exp(-y);
  return std::isinf(power) ? 0.0 : x / (1.0 + power);
}

double gelu(double x) { return std::isinf(x) && x < 0.0 ? 0.0 : 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }

double hard_swish(double x) { return x <= -3.0 ? 0.0 : x >= 3.0 ? x : x * (x + 3.0) / 6.0; }

double mish(double x) {
  const double power = std::exp(std::min(x, 40.0));  // of larger ones the factor is 1
  const double upper = power * (power + 2.0);
  return upper == 0.0 ? 0.0 : x * (upper / (upper + 2.0));
}

}  // namespace

double apply_exactly(Activation activation, double x) {
  const double alpha = activation.alpha;
  switch (activation.kind) {
    case ActivationKind::none: return x;
    case ActivationKind::relu: return std::max(x, 0.0);
    case ActivationKind::leaky_relu: return x < 0.0 ? alpha * x : x;
    case ActivationKind::elu: return x < 0.0 ? alpha * std::expm1(x) : x;
    case ActivationKind::sigmoid: return 1.0 / (1.0 + std::exp(-x));
    case ActivationKind::tanh: return std::tanh(x);
    case ActivationKind::capped_relu: return std::min(std::max(x, 0.0), alpha);
    case ActivationKind::softplus: return softplus(x);
    case ActivationKind::silu: return times_sigmoid(x, x);
    case ActivationKind::hard_swish: return hard_swish(x);
    case ActivationKind::mish: return mish(x);
    case ActivationKind::gelu: return gelu(x);
    case ActivationKind::gelu_tanh:
      return times_sigmoid(x, std::sqrt(8.0 / std::numbers::pi) * (x + 0.044715 * x * x * x));
  }
  return x;
}

Values widened(std::span<const float> values) { return {values.begin(), values.end()}; }

}  // namespace znni::oracle
