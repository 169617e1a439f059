// cpu.scale_shift: out = scale[i] in + shift[i], a batch normalisation that could not be folded.
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/per_channel.hpp"
#include "primitives/cpu/elementwise/runs.hpp"

namespace znni::cpu {
namespace {

Result<std::vector<Estimate>> describe_scale_shift(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* scale_shift = std::get_if<ScaleShiftProblem>(&problem);
  if (scale_shift == nullptr) return refusal("cpu.scale_shift", "scales and shifts", problem);
  std::vector<Estimate> estimates = streaming_estimates(problem, spec, float_formats(spec), vector_flops(2, spec));
  for (Estimate& estimate : estimates) {
    estimate.memory.push_back(per_channel_buffer("scale", scale_shift->in, estimate.in));
    estimate.memory.push_back(per_channel_buffer("shift", scale_shift->in, estimate.in));
  }
  return estimates;
}

// Scales whole voxels; `scale` and `shift` hold one value per lane.
void scale_run(std::span<const float> from, std::span<float> to, std::span<const float> scale,
               std::span<const float> shift) {
  const std::size_t width = scale.size();
  for (std::size_t voxel = 0; voxel < to.size(); voxel += width) {
    for (std::size_t lane = 0; lane < width; ++lane) to[voxel + lane] = scale[lane] * from[voxel + lane] + shift[lane];
  }
}

// Scales a run of one lane, for which the loop above would not be vectorised.
void scale_run(std::span<const float> from, std::span<float> to, float scale, float shift) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = scale * from[i] + shift;
}

class ScaleShiftLayer final : public PreparedLayer {
 public:
  ScaleShiftLayer(std::span<const float> scale, std::span<const float> shift, Executor& executor)
      : scale_(scale), shift_(shift), executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    const auto width = static_cast<std::size_t>(block_width(out.format.layout));
    for_each_run(executor_, out, inputs, blocks_of(out), [&](const Run& run, int) {
      const std::size_t first = static_cast<std::size_t>(run.block) * width;
      const std::span<const float> from = run_of(inputs[0], run);
      const std::span<float> to = run_of(out, run);
      if (width == 1) return scale_run(from, to, scale_[first], shift_[first]);
      scale_run(from, to, scale_.subspan(first, width), shift_.subspan(first, width));
    });
    return {};
  }

 private:
  std::span<const float> scale_;
  std::span<const float> shift_;
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_scale_shift(const LayerProblem&, const Estimate&,
                                                           const LayerWeights& weights, Arena& persistent,
                                                           Device& device) {
  const std::span<const float> scale = grant_per_channel(persistent, "scale", weights.scale);
  const std::span<const float> shift = grant_per_channel(persistent, "shift", weights.shift);
  return std::unique_ptr<PreparedLayer>(std::make_unique<ScaleShiftLayer>(scale, shift, device.executor()));
}

}  // namespace

extern constinit const Primitive scale_shift{"cpu.scale_shift", 1, DeviceKind::cpu, &describe_scale_shift,
                                             &prepare_scale_shift};

}  // namespace znni::cpu
