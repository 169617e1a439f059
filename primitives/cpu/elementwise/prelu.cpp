// cpu.prelu: out = in above 0, else slope[i] in, with a slope for each channel.
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/per_channel.hpp"
#include "primitives/cpu/elementwise/runs.hpp"

namespace znni::cpu {
namespace {

Result<std::vector<Estimate>> describe_prelu(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* prelu = std::get_if<PReluProblem>(&problem);
  if (prelu == nullptr) return refusal("cpu.prelu", "rectifiers with a slope for each channel", problem);
  std::vector<Estimate> estimates = streaming_estimates(problem, spec, float_formats(spec), vector_flops(2, spec));
  for (Estimate& estimate : estimates) {
    estimate.memory.push_back(per_channel_buffer("slopes", prelu->in, estimate.in));
  }
  return estimates;
}

float rectified(float value, float slope) {
  const float below = slope * value;
  return value < 0 ? below : value;
}

// Rectifies whole voxels; `slopes` holds one value per lane.
void rectify_run(std::span<const float> from, std::span<float> to, std::span<const float> slopes) {
  const std::size_t width = slopes.size();
  for (std::size_t voxel = 0; voxel < to.size(); voxel += width) {
    for (std::size_t lane = 0; lane < width; ++lane) to[voxel + lane] = rectified(from[voxel + lane], slopes[lane]);
  }
}

// Rectifies a run of one lane, for which the loop above would not be vectorised.
void rectify_run(std::span<const float> from, std::span<float> to, float slope) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = rectified(from[i], slope);
}

class PReluLayer final : public PreparedLayer {
 public:
  PReluLayer(std::span<const float> slopes, Executor& executor) : slopes_(slopes), executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    const auto width = static_cast<std::size_t>(block_width(out.format.layout));
    for_each_run(executor_, out, inputs, blocks_of(out), [&](const Run& run, int) {
      const std::size_t first = static_cast<std::size_t>(run.block) * width;
      const std::span<const float> from = run_of(inputs[0], run);
      const std::span<float> to = run_of(out, run);
      if (width == 1) return rectify_run(from, to, slopes_[first]);
      rectify_run(from, to, slopes_.subspan(first, width));
    });
    return {};
  }

 private:
  std::span<const float> slopes_;
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_prelu(const LayerProblem&, const Estimate&, const LayerWeights& weights,
                                                     Arena& persistent, Device& device) {
  const std::span<const float> slopes = grant_per_channel(persistent, "slopes", weights.scale);
  return std::unique_ptr<PreparedLayer>(std::make_unique<PReluLayer>(slopes, device.executor()));
}

}  // namespace

extern constinit const Primitive prelu{"cpu.prelu", 1, DeviceKind::cpu, &describe_prelu, &prepare_prelu};

}  // namespace znni::cpu
