// cpu.grad.pointwise_blocked: gradients of convolutions whose kernels are one voxel, on blocked tensors. A vector has
// the channels of a block, so that nothing is transposed:
//   of the input:   dx[v][block] = sum over j of kernels[j][block] g[v][j]
//   of the kernels: dw[j][block] = sum over v of g[v][j] x[v][block]
// Voxels are divided into parts, whose number does not depend on the workers. The sums of a part have one owner, and
// the parts are added in order.
#include <algorithm>
#include <array>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/grad/gradients.hpp"
#include "primitives/cpu/vectors/simd8.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view pointwise_blocked_name = "cpu.grad.pointwise_blocked";
constexpr std::string_view padded_name = "padded kernels";
constexpr std::string_view sums_name = "sums of parts";
constexpr std::int64_t most_parts = 8;
constexpr std::int64_t rows_at_once = 4;      // output channels, or voxels, of a register block
constexpr std::int64_t voxels_at_once = 128;  // that are added in float32
// Measured shares of the device's rate.
constexpr double pointwise_blocked_efficiency = 0.3;

// Returns the floats of a kernel per output channel, with the padding channels of the input.
std::int64_t padded_row(const ConvProblem& conv, std::int64_t width) { return round_up(conv.in.f, width); }

std::int64_t parts_of(const ConvProblem& conv) { return std::min(most_parts, mul(conv.in.S, conv.in.n.z)); }

// Returns the doubles of a part: the sums of all kernels, and of all output channels for the bias.
std::int64_t part_sums(const ConvProblem& conv, std::int64_t width) {
  return mul(round_up(conv.f_out, width), add(padded_row(conv, width), 1));
}

Result<std::vector<Estimate>> describe_pointwise_blocked(const GradientProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem.layer);
  if (conv == nullptr || !is_single(problem) || conv->k != Vec3::cube(1) || !is_plain(*conv)) {
    return refusal(pointwise_blocked_name, "gradients of convolutions of 1x1x1 without stride or groups", problem);
  }
  const Format blocked = blocked_format(spec);
  const std::int64_t width = block_width(blocked.layout);
  const bool of_weights = problem.of == GradientOf::weights;
  Estimate estimate;
  estimate.in = blocked;
  estimate.out = of_weights ? planar_format : blocked;
  estimate.memory = gradient_buffers(problem, estimate.in, estimate.out);
  const std::int64_t floats =
      of_weights ? mul(2, mul(parts_of(*conv), part_sums(*conv, width))) : mul(conv->f_out, padded_row(*conv, width));
  const std::string_view scratch = of_weights ? sums_name : padded_name;
  estimate.memory.push_back({std::string(scratch), MemorySpace::host, float_bytes(floats), Lifetime::stages(0, 0)});
  ConvProblem padded = *conv;
  padded.in.f = round_up(conv->in.f, width);
  if (of_weights) padded.f_out = round_up(conv->f_out, rows_at_once);
  estimate.time = modelled_time(spec, direct_flops(padded), pointwise_blocked_efficiency,
                                gradient_traffic(problem, estimate.in, estimate.out));
  return std::vector<Estimate>{std::move(estimate)};
}

template <std::int64_t width>
inline constexpr std::size_t vectors = static_cast<std::size_t>(width / Simd8::lanes);

// Sums of `rows` rows of one block of channels.
template <std::int64_t width>
using Sums = std::array<std::array<Simd8::V, vectors<width>>, rows_at_once>;

// Computes sums[row] += weights[row] * from, for a block of channels.
template <std::int64_t width>
void add_products(const std::array<float, rows_at_once>& weights, const float* from, Sums<width>& sums) {
#pragma GCC unroll 4
  for (std::size_t v = 0; v < vectors<width>; ++v) {
    const Simd8::V value = Simd8::load(from + v * Simd8::lanes);
#pragma GCC unroll 4
    for (std::size_t row = 0; row < rows_at_once; ++row) sums[row][v] += Simd8::broadcast(weights[row]) * value;
  }
}

template <std::int64_t width>
class PointwiseBlockedInputGradient final : public PreparedGradient {
 public:
  PointwiseBlockedInputGradient(const ConvProblem& conv, std::span<const float> kernels, Executor& executor)
      : conv_(conv), kernels_(kernels), executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena& arena) override {
    padded_ = arena.grant_as<float>(padded_name);
    const std::int64_t row = padded_row(conv_, width);
    for (std::int64_t j = 0; j < conv_.f_out; ++j) {
      copy_padded(kernels_.subspan(index_of(j * conv_.in.f), index_of(conv_.in.f)),
                  padded_.subspan(index_of(j * row), index_of(row)));
    }
    const TensorView read[] = {views.output};
    for_each_run(executor_, views.gradient, read, blocks_of(views.gradient), [&](const Run& run, int) {
      for (std::int64_t at = 0; at < run.floats; at += rows_at_once * width) compute(views, run, at);
    });
    return {};
  }

 private:
  static std::size_t index_of(std::int64_t value) { return static_cast<std::size_t>(value); }

  // Computes up to 4 voxels, from float `at` of the run on. Voxels beyond the run stand for its last one.
  void compute(const GradientViews& views, const Run& run, std::int64_t at) const {
    const std::int64_t count = std::min(rows_at_once, (run.floats - at) / width);
    Sums<width> sums = {};
    for (std::int64_t j = 0; j < conv_.f_out; ++j) {
      const float* const from = &views.output.at(run.s, j, run.start) + at;
      std::array<float, rows_at_once> values;
      for (std::int64_t row = 0; row < rows_at_once; ++row) {
        values[index_of(row)] = from[std::min(row, count - 1) * width];
      }
      add_products<width>(values, padded_.data() + j * padded_row(conv_, width) + run.block * width, sums);
    }
    float* const to = &views.gradient.at(run.s, run.block * width, run.start) + at;
    for (std::int64_t row = 0; row < count; ++row) {
      for (std::size_t v = 0; v < vectors<width>; ++v) {
        Simd8::store(to + row * width + v * Simd8::lanes, sums[index_of(row)][v]);
      }
    }
  }

  ConvProblem conv_;
  std::span<const float> kernels_;
  Executor& executor_;
  std::span<float> padded_;  // [f_out][padded f]
};

template <std::int64_t width>
class PointwiseBlockedWeightsGradient final : public PreparedGradient {
 public:
  PointwiseBlockedWeightsGradient(const ConvProblem& conv, Executor& executor)
      : conv_(conv),
        executor_(executor),
        parts_(parts_of(conv)),
        row_(padded_row(conv, width)),
        out_(round_up(conv.f_out, width)),
        groups_(div_up(conv.f_out, rows_at_once)) {}

  Result<void> run(const GradientViews& views, Arena& arena) override {
    sums_ = arena.grant_as<double>(sums_name);
    std::fill(sums_.begin(), sums_.end(), 0.0);
    const std::int64_t columns = row_ / width;
    const std::int64_t kernels = groups_ * columns;
    const std::int64_t tasks = kernels + (views.bias.empty() ? 0 : out_ / width);
    executor_.parallel_for(parts_ * tasks, [&](std::int64_t index, int) {
      const std::int64_t part = index / tasks;
      const std::int64_t task = index % tasks;
      if (task >= kernels) return add_bias(views.output, part, task - kernels);
      add_kernels(views, part, task / columns * rows_at_once, task % columns);
    });
    add_parts(views);
    return {};
  }

 private:
  // Calls body(s, start, first float, floats) for pieces of the rows or planes of a part.
  template <class Body>
  void for_each_piece(const TensorView& view, bool planes, std::int64_t part, const Body& body) const {
    const Vec3 n = conv_.in.n;
    const std::int64_t rows = planes ? 1 : n.y;
    const std::int64_t floats = (planes ? n.y : 1) * n.x * width;
    const std::int64_t all = view.shape.S * n.z * rows;
    for (std::int64_t row = part * all / parts_; row < (part + 1) * all / parts_; ++row) {
      const Vec3 start{row / rows % n.z, row % rows, 0};
      for (std::int64_t at = 0; at < floats; at += voxels_at_once * width) {
        body(row / rows / n.z, start, at, std::min(voxels_at_once * width, floats - at));
      }
    }
  }

  [[nodiscard]] double* sums_of(std::int64_t part) const { return sums_.data() + part * out_ * (row_ + 1); }

  // Adds the products of a part, for up to 4 output channels from `first` on. Those beyond the last stand for it.
  void add_kernels(const GradientViews& views, std::int64_t part, std::int64_t first, std::int64_t block) const {
    const bool planes = has_dense_planes(views.output) && has_dense_planes(views.saved);
    const std::int64_t count = std::min(rows_at_once, conv_.f_out - first);
    for_each_piece(views.saved, planes, part, [&](std::int64_t s, Vec3 start, std::int64_t at, std::int64_t floats) {
      std::array<const float*, rows_at_once> g;
      for (std::size_t row = 0; row < rows_at_once; ++row) {
        g[row] = &views.output.at(s, first + std::min(static_cast<std::int64_t>(row), count - 1), start) + at;
      }
      const float* const x = &views.saved.at(s, block * width, start) + at;
      Sums<width> sums = {};
      for (std::int64_t v = 0; v < floats; v += width) {
        add_products<width>({g[0][v], g[1][v], g[2][v], g[3][v]}, x + v, sums);
      }
      for (std::int64_t row = 0; row < count; ++row) {
        add_to(sums[static_cast<std::size_t>(row)], sums_of(part) + (first + row) * row_ + block * width);
      }
    });
  }

  // Adds the voxels of a part, for a block of output channels.
  void add_bias(const TensorView& output, std::int64_t part, std::int64_t block) const {
    double* const to = sums_of(part) + out_ * row_ + block * width;
    for_each_piece(output, has_dense_planes(output), part,
                   [&](std::int64_t s, Vec3 start, std::int64_t at, std::int64_t floats) {
                     const float* const from = &output.at(s, block * width, start) + at;
                     std::array<Simd8::V, vectors<width>> sum = {};
                     for (std::int64_t v = 0; v < floats; v += width) {
                       for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += Simd8::load(from + v + i * Simd8::lanes);
                     }
                     add_to(sum, to);
                   });
  }

  static void add_to(const std::array<Simd8::V, vectors<width>>& sums, double* to) {
    std::array<float, static_cast<std::size_t>(width)> lanes;
    for (std::size_t v = 0; v < sums.size(); ++v) Simd8::store(lanes.data() + v * Simd8::lanes, sums[v]);
    for (std::size_t i = 0; i < lanes.size(); ++i) to[i] += lanes[i];
  }

  [[nodiscard]] float sum_of_parts(std::int64_t at) const {
    double sum = 0.0;
    for (std::int64_t part = 0; part < parts_; ++part) sum += sums_of(part)[at];
    return static_cast<float>(sum);
  }

  void add_parts(const GradientViews& views) const {
    for (std::int64_t j = 0; j < conv_.f_out; ++j) {
      if (!views.bias.empty()) views.bias[static_cast<std::size_t>(j)] = sum_of_parts(out_ * row_ + j);
      for (std::int64_t i = 0; i < conv_.in.f; ++i) views.gradient.at(j, i, {}) = sum_of_parts(j * row_ + i);
    }
  }

  ConvProblem conv_;
  Executor& executor_;
  std::int64_t parts_;
  std::int64_t row_;        // floats of a kernel per output channel, padded
  std::int64_t out_;        // output channels, padded
  std::int64_t groups_;     // of output channels
  std::span<double> sums_;  // [part][kernels, then biases]
};

template <std::int64_t width>
Result<std::unique_ptr<PreparedGradient>> prepare_blocked(const GradientProblem& problem, const Estimate& chosen,
                                                          const LayerWeights& weights, Arena& arena, Device& device) {
  return prepare_without_scratch<PointwiseBlockedInputGradient<width>, PointwiseBlockedWeightsGradient<width>>(
      problem, chosen, weights, arena, device);
}

Result<std::unique_ptr<PreparedGradient>> prepare_pointwise_blocked(const GradientProblem& problem,
                                                                    const Estimate& chosen, const LayerWeights& weights,
                                                                    Arena& arena, Device& device) {
  const auto make = block_width(chosen.in.layout) == 16 ? &prepare_blocked<16> : &prepare_blocked<8>;
  return make(problem, chosen, weights, arena, device);
}

}  // namespace

extern constinit const GradientPrimitive grad_pointwise_blocked{
    pointwise_blocked_name, 1, DeviceKind::cpu, &describe_pointwise_blocked, &prepare_pointwise_blocked};

}  // namespace znni::cpu
