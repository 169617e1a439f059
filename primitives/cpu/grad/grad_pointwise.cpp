// cpu.grad.pointwise: gradients of convolutions whose kernels are one voxel, planar, without scratch: matrix products
// with a voxel per column. Registers hold 4 channels by 4 for the kernels' gradient, and 4 channels by 16 voxels for
// the input's. Blocks and rows have one owner each, so sums run in a fixed order.
#include <algorithm>
#include <array>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/grad/gradients.hpp"
#include "primitives/cpu/grad/row_products.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view pointwise_name = "cpu.grad.pointwise";
constexpr std::int64_t block = 4;  // channels
constexpr std::int64_t wide = 2 * Simd8::lanes;
// Share of the device's rate; channels are read again for every block.
constexpr double pointwise_efficiency = 0.35;

Result<std::vector<Estimate>> describe_pointwise(const GradientProblem& problem, const DeviceSpec& spec) {
  const auto* conv = std::get_if<ConvProblem>(&problem.layer);
  if (conv == nullptr || !is_single(problem) || conv->k != Vec3::cube(1) || !is_plain(*conv)) {
    return refusal(pointwise_name, "gradients of convolutions of 1x1x1 without stride or groups", problem);
  }
  Estimate estimate;
  estimate.memory = gradient_buffers(problem, planar_format, planar_format);
  estimate.time = modelled_time(spec, direct_flops(*conv), pointwise_efficiency,
                                gradient_traffic(problem, planar_format, planar_format));
  return std::vector<Estimate>{std::move(estimate)};
}

// The rows of the channels of a block; rows beyond the last channel stand for the last one.
using Rows = std::array<float*, block>;

Rows rows_at(const TensorView& view, std::int64_t s, std::int64_t first, Vec3 start) {
  Rows rows;
  for (std::int64_t i = 0; i < block; ++i) {
    rows[static_cast<std::size_t>(i)] = &view.at(s, std::min(first + i, view.shape.f - 1), start);
  }
  return rows;
}

class PointwiseInputGradient final : public PreparedGradient {
 public:
  PointwiseInputGradient(const ConvProblem& conv, std::span<const float> kernels, Executor& executor)
      : conv_(conv), kernels_(kernels), executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena&) override {
    const TensorView read[] = {views.output};
    for_each_run(executor_, views.gradient, read, 1, [&](const Run& run, int) {
      for (std::int64_t x = 0; x < run.floats; x += wide) {
        for (std::int64_t i = 0; i < conv_.in.f; i += block) compute(views, run, i, x);
      }
    });
    return {};
  }

 private:
  // Computes up to 16 voxels of a block of channels, from voxel x of the run on.
  void compute(const GradientViews& views, const Run& run, std::int64_t first, std::int64_t x) const {
    const std::int64_t count = std::min(wide, run.floats - x);
    Simd8::V sums[block][2] = {};
    for (std::int64_t j = 0; j < conv_.f_out; ++j) {
      const float* from = &views.output.at(run.s, j, run.start) + x;
      float rest[wide] = {};
      if (count < wide) from = std::copy_n(from, count, rest) - count;
      const Simd8::V low = Simd8::load(from);
      const Simd8::V high = Simd8::load(from + Simd8::lanes);
      for (std::int64_t i = 0; i < block; ++i) {
        const Simd8::V weight =
            Simd8::broadcast(kernels_[static_cast<std::size_t>(j * conv_.in.f + std::min(first + i, conv_.in.f - 1))]);
        sums[i][0] += weight * low;
        sums[i][1] += weight * high;
      }
    }
    for (std::int64_t i = 0; i < std::min(block, conv_.in.f - first); ++i) {
      float made[wide];
      Simd8::store(made, sums[i][0]);
      Simd8::store(made + Simd8::lanes, sums[i][1]);
      std::copy_n(made, count, &views.gradient.at(run.s, first + i, run.start) + x);
    }
  }

  ConvProblem conv_;
  std::span<const float> kernels_;
  Executor& executor_;
};

class PointwiseWeightsGradient final : public PreparedGradient {
 public:
  PointwiseWeightsGradient(const ConvProblem& conv, Executor& executor) : conv_(conv), executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena&) override {
    const std::int64_t columns = div_up(conv_.in.f, block);
    const std::int64_t blocks = div_up(conv_.f_out, block) * columns;
    executor_.parallel_for(blocks + conv_.f_out, [&](std::int64_t index, int) {
      if (index < blocks) return compute(views, index / columns * block, index % columns * block);
      if (views.bias.empty()) return;
      const std::int64_t j = index - blocks;
      views.bias[static_cast<std::size_t>(j)] = static_cast<float>(sum_of_channel(views.output, j));
    });
    return {};
  }

 private:
  using Sums = double[block][block];

  // Computes the gradients between output channels from j on and input channels from i on.
  void compute(const GradientViews& views, std::int64_t j, std::int64_t i) const {
    Sums sums = {};
    const Vec3 n = conv_.in.n;
    const bool planes = has_dense_planes(views.output) && has_dense_planes(views.saved);
    const std::int64_t rows = planes ? 1 : n.y;  // of a plane
    for (std::int64_t row = 0; row < conv_.in.S * n.z * rows; ++row) {
      const std::int64_t s = row / rows / n.z;
      const Vec3 start{row / rows % n.z, row % rows, 0};
      add_row(rows_at(views.output, s, j, start), rows_at(views.saved, s, i, start), planes ? n.y * n.x : n.x, sums);
    }
    for (std::int64_t b = 0; b < std::min(block, conv_.f_out - j); ++b) {
      for (std::int64_t a = 0; a < std::min(block, conv_.in.f - i); ++a) {
        views.gradient.at(j + b, i + a, {}) = static_cast<float>(sums[b][a]);
      }
    }
  }

  // Adds the products of `count` neighbouring voxels.
  static void add_row(const Rows& g, const Rows& x, std::int64_t count, Sums& sums) {
    Simd8::V vectors[block][block] = {};
    const std::int64_t whole = count / Simd8::lanes * Simd8::lanes;
    for (std::int64_t v = 0; v < whole; v += Simd8::lanes) {
#pragma GCC unroll 4
      for (std::size_t a = 0; a < block; ++a) {
        const Simd8::V read = Simd8::load(x[a] + v);
#pragma GCC unroll 4
        for (std::size_t b = 0; b < block; ++b) vectors[b][a] += Simd8::load(g[b] + v) * read;
      }
    }
    for (std::size_t b = 0; b < block; ++b) {
      for (std::size_t a = 0; a < block; ++a) {
        sums[b][a] += sum_of_lanes(vectors[b][a]);
        for (std::int64_t v = whole; v < count; ++v) sums[b][a] += g[b][v] * x[a][v];
      }
    }
  }

  ConvProblem conv_;
  Executor& executor_;
};

}  // namespace

extern constinit const GradientPrimitive grad_pointwise{
    pointwise_name, 1, DeviceKind::cpu, &describe_pointwise,
    &prepare_without_scratch<PointwiseInputGradient, PointwiseWeightsGradient>};

}  // namespace znni::cpu
