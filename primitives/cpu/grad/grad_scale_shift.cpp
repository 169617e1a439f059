// cpu.grad.scale_shift: gradients of scales and shifts of channels. With g the output's gradient and x the input, that
// of the input is scale[i] g; that of scale i is the sum of g x, and that of shift i the sum of g. A channel has one
// owner, which sums its rows in order, in float64.
#include <algorithm>
#include <array>
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/grad/gradients.hpp"

namespace znni::cpu {
namespace {

constexpr std::size_t widest_block = 16;
// Cycles of a product and a value that are added in float64.
constexpr double cycles_per_product = 2.0;

Estimate of_weights(const GradientProblem& problem, const DeviceSpec& spec, Format in) {
  Estimate estimate;
  estimate.in = in;
  estimate.memory = gradient_buffers(problem, in, planar_format);
  const auto count = static_cast<double>(elements(input_shape(problem.layer, 0)));
  estimate.time = modelled_time(spec, count * scalar_flops(cycles_per_product, spec), 1.0,
                                gradient_traffic(problem, in, planar_format));
  return estimate;
}

Result<std::vector<Estimate>> describe_scale_shift(const GradientProblem& problem, const DeviceSpec& spec) {
  if (!std::holds_alternative<ScaleShiftProblem>(problem.layer)) {
    return refusal("cpu.grad.scale_shift", "gradients of scales and shifts of channels", problem);
  }
  if (problem.of == GradientOf::input) {
    return streaming_gradients(problem, spec, float_formats(spec), vector_flops(2.0, spec));
  }
  std::vector<Estimate> estimates;
  for (const Format format : float_formats(spec)) estimates.push_back(of_weights(problem, spec, format));
  return estimates;
}

class ScaleShiftInputGradient final : public PreparedGradient {
 public:
  ScaleShiftInputGradient(std::span<const float> scale, Executor& executor) : scale_(scale), executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena&) override {
    const TensorView read[] = {views.output};
    const auto width = static_cast<std::size_t>(block_width(views.gradient.format.layout));
    for_each_run(executor_, views.gradient, read, blocks_of(views.gradient), [&](const Run& run, int) {
      const std::size_t first = static_cast<std::size_t>(run.block) * width;
      const std::span<const float> own = scale_.subspan(first, std::min(width, scale_.size() - first));
      scale_run(run_of(views.output, run), own, width, run_of(views.gradient, run));
    });
    return {};
  }

 private:
  // Scales whole voxels; padding channels become zeros.
  static void scale_run(std::span<const float> from, std::span<const float> scale, std::size_t width,
                        std::span<float> to) {
    std::array<float, widest_block> lanes{};
    std::copy(scale.begin(), scale.end(), lanes.begin());
    if (width == 1) {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = lanes[0] * from[i];
      return;
    }
    for (std::size_t voxel = 0; voxel < to.size(); voxel += width) {
      for (std::size_t lane = 0; lane < width; ++lane) to[voxel + lane] = lanes[lane] * from[voxel + lane];
    }
  }

  std::span<const float> scale_;
  Executor& executor_;
};

class ScaleShiftWeightsGradient final : public PreparedGradient {
 public:
  explicit ScaleShiftWeightsGradient(Executor& executor) : executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena&) override {
    executor_.parallel_for(blocks_of(views.output), [&](std::int64_t block, int) { compute(views, block); });
    return {};
  }

 private:
  // Sums of the lanes of a block.
  struct Sums {
    std::array<double, widest_block> products{};
    std::array<double, widest_block> values{};
  };

  static void compute(const GradientViews& views, std::int64_t block) {
    const Shape5& shape = views.output.shape;
    const std::int64_t width = block_width(views.output.format.layout);
    Sums sums;
    for (std::int64_t row = 0; row < shape.S * shape.n.z * shape.n.y; ++row) {
      const Vec3 start{row / shape.n.y % shape.n.z, row % shape.n.y, 0};
      const Run run{row / shape.n.y / shape.n.z, block, start, shape.n.x * width};
      add_row(run_of(views.output, run), run_of(views.saved, run), static_cast<std::size_t>(width), sums);
    }
    const std::int64_t first = block * width;
    for (std::int64_t i = first; i < std::min(first + width, shape.f); ++i) {
      const auto lane = static_cast<std::size_t>(i - first);
      views.gradient.at(0, i, {}) = static_cast<float>(sums.products[lane]);
      views.bias[static_cast<std::size_t>(i)] = static_cast<float>(sums.values[lane]);
    }
  }

  static void add_row(std::span<const float> output, std::span<const float> saved, std::size_t width, Sums& sums) {
    for (std::size_t voxel = 0; voxel < output.size(); voxel += width) {
      for (std::size_t lane = 0; lane < width; ++lane) {
        const auto g = static_cast<double>(output[voxel + lane]);
        sums.products[lane] += g * static_cast<double>(saved[voxel + lane]);
        sums.values[lane] += g;
      }
    }
  }

  Executor& executor_;
};

Result<std::unique_ptr<PreparedGradient>> prepare_scale_shift(const GradientProblem& problem, const Estimate&,
                                                              const LayerWeights& weights, Arena&, Device& device) {
  using Made = std::unique_ptr<PreparedGradient>;
  if (problem.of == GradientOf::weights) return Made(std::make_unique<ScaleShiftWeightsGradient>(device.executor()));
  return Made(std::make_unique<ScaleShiftInputGradient>(weights.scale, device.executor()));
}

}  // namespace

extern constinit const GradientPrimitive grad_scale_shift{"cpu.grad.scale_shift", 1, DeviceKind::cpu,
                                                          &describe_scale_shift, &prepare_scale_shift};

}  // namespace znni::cpu
