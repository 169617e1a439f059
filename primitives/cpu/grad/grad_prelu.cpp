// cpu.grad.prelu: gradients of rectifiers with a slope for each channel, by their input x. With g the output's
// gradient, that of the input is g above 0, else slope[i] g; that of slope i is the sum of g x over all x below 0. A
// channel has one owner, which sums its rows in order, in float64.
#include <algorithm>
#include <array>
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/grad/gradients.hpp"

namespace znni::cpu {
namespace {

constexpr std::size_t widest_block = 16;
// Cycles of a product that is added in float64.
constexpr double cycles_per_product = 1.5;

Estimate of_slopes(const GradientProblem& problem, const DeviceSpec& spec, Format in) {
  Estimate estimate;
  estimate.in = in;
  estimate.memory = gradient_buffers(problem, in, planar_format);
  const auto count = static_cast<double>(elements(input_shape(problem.layer, 0)));
  estimate.time = modelled_time(spec, count * scalar_flops(cycles_per_product, spec), 1.0,
                                gradient_traffic(problem, in, planar_format));
  return estimate;
}

Result<std::vector<Estimate>> describe_prelu(const GradientProblem& problem, const DeviceSpec& spec) {
  if (!std::holds_alternative<PReluProblem>(problem.layer)) {
    return refusal("cpu.grad.prelu", "gradients of rectifiers with a slope for each channel", problem);
  }
  if (problem.of == GradientOf::input) {
    return streaming_gradients(problem, spec, float_formats(spec), vector_flops(3.0, spec));
  }
  std::vector<Estimate> estimates;
  for (const Format format : float_formats(spec)) estimates.push_back(of_slopes(problem, spec, format));
  return estimates;
}

class PreluInputGradient final : public PreparedGradient {
 public:
  PreluInputGradient(std::span<const float> slopes, Executor& executor) : slopes_(slopes), executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena&) override {
    const TensorView read[] = {views.output, views.saved};
    const auto width = static_cast<std::size_t>(block_width(views.gradient.format.layout));
    for_each_run(executor_, views.gradient, read, blocks_of(views.gradient), [&](const Run& run, int) {
      const std::array<float, widest_block> slopes = slopes_of(static_cast<std::size_t>(run.block) * width, width);
      const std::span<const float> output = run_of(views.output, run);
      const std::span<const float> saved = run_of(views.saved, run);
      const std::span<float> to = run_of(views.gradient, run);
      if (width == 1) return rectify(output, saved, to, slopes[0]);
      for (std::size_t voxel = 0; voxel < to.size(); voxel += width) {
        for (std::size_t lane = 0; lane < width; ++lane) {
          const std::size_t i = voxel + lane;
          to[i] = saved[i] > 0 ? output[i] : slopes[lane] * output[i];
        }
      }
    });
    return {};
  }

 private:
  static void rectify(std::span<const float> output, std::span<const float> saved, std::span<float> to, float slope) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = saved[i] > 0 ? output[i] : slope * output[i];
  }

  // Returns the slopes of a block; padding channels have none.
  [[nodiscard]] std::array<float, widest_block> slopes_of(std::size_t first, std::size_t width) const {
    std::array<float, widest_block> slopes{};
    const std::size_t count = std::min(width, slopes_.size() - first);
    std::copy_n(slopes_.begin() + static_cast<std::ptrdiff_t>(first), count, slopes.begin());
    return slopes;
  }

  std::span<const float> slopes_;
  Executor& executor_;
};

class SlopesGradient final : public PreparedGradient {
 public:
  explicit SlopesGradient(Executor& executor) : executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena&) override {
    executor_.parallel_for(blocks_of(views.output), [&](std::int64_t block, int) { compute(views, block); });
    return {};
  }

 private:
  static void compute(const GradientViews& views, std::int64_t block) {
    const Shape5& shape = views.output.shape;
    const std::int64_t width = block_width(views.output.format.layout);
    std::array<double, widest_block> sums{};
    for (std::int64_t row = 0; row < shape.S * shape.n.z * shape.n.y; ++row) {
      const Vec3 start{row / shape.n.y % shape.n.z, row % shape.n.y, 0};
      const Run run{row / shape.n.y / shape.n.z, block, start, shape.n.x * width};
      add_row(run_of(views.output, run), run_of(views.saved, run), static_cast<std::size_t>(width), sums);
    }
    const std::int64_t first = block * width;
    for (std::int64_t i = first; i < std::min(first + width, shape.f); ++i) {
      views.gradient.at(0, i, {}) = static_cast<float>(sums[static_cast<std::size_t>(i - first)]);
    }
  }

  static void add_row(std::span<const float> output, std::span<const float> saved, std::size_t width,
                      std::array<double, widest_block>& sums) {
    for (std::size_t voxel = 0; voxel < output.size(); voxel += width) {
      for (std::size_t lane = 0; lane < width; ++lane) {
        const double x = std::min(saved[voxel + lane], 0.0F);
        sums[lane] += x * static_cast<double>(output[voxel + lane]);
      }
    }
  }

  Executor& executor_;
};

Result<std::unique_ptr<PreparedGradient>> prepare_prelu(const GradientProblem& problem, const Estimate&,
                                                        const LayerWeights& weights, Arena&, Device& device) {
  using Made = std::unique_ptr<PreparedGradient>;
  if (problem.of == GradientOf::weights) return Made(std::make_unique<SlopesGradient>(device.executor()));
  return Made(std::make_unique<PreluInputGradient>(weights.scale, device.executor()));
}

}  // namespace

extern constinit const GradientPrimitive grad_prelu{"cpu.grad.prelu", 1, DeviceKind::cpu, &describe_prelu,
                                                    &prepare_prelu};

}  // namespace znni::cpu
