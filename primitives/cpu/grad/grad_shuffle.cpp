// cpu.grad.shuffle: the gradient of an upsampling that makes voxels of channels, the last step of a transposed
// convolution: voxels become channels again. Blocked layouts need whole blocks of output channels, as the layer does.
#include <algorithm>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/grad/gradients.hpp"

namespace znni::cpu {
namespace {

Result<std::vector<Estimate>> describe_shuffle(const GradientProblem& problem, const DeviceSpec& spec) {
  const auto* upsample = std::get_if<UpsampleProblem>(&problem.layer);
  if (upsample == nullptr || upsample->kind != UpsampleKind::shuffle) {
    return refusal("cpu.grad.shuffle", "gradients of shuffles", problem);
  }
  std::vector<Format> formats = float_formats(spec);
  std::erase_if(formats, [&](Format format) { return output_shape(*upsample).f % block_width(format.layout) != 0; });
  return streaming_gradients(problem, spec, formats, 0.0);
}

class ShuffleGradient final : public PreparedGradient {
 public:
  ShuffleGradient(Vec3 factor, Executor& executor) : factor_(factor), executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena&) override {
    const std::int64_t blocks = blocks_of(views.gradient);
    const Vec3 n = views.gradient.shape.n;
    executor_.parallel_for(views.gradient.shape.S * blocks * n.z, [&](std::int64_t index, int) {
      Run run{index / n.z / blocks, index / n.z % blocks, {index % n.z, 0, 0}, n.x};
      for (; run.start.y < n.y; ++run.start.y) copy_row(views, run);
    });
    return {};
  }

 private:
  // Writes a row of a block of the gradient, whose voxels lie `factor.x` apart in the output's.
  void copy_row(const GradientViews& views, const Run& run) const {
    const std::int64_t width = block_width(views.output.format.layout);
    const std::int64_t blocks = blocks_of(views.output);
    const std::int64_t phase = run.block / blocks;
    const Vec3 offset{phase / factor_.x / factor_.y, phase / factor_.x % factor_.y, phase % factor_.x};
    const float* from = &views.output.at(run.s, run.block % blocks * width, factor_ * run.start + offset);
    float* to = &views.gradient.at(run.s, run.block * width, run.start);
    for (std::int64_t x = 0; x < run.floats; ++x, from += factor_.x * width) to = std::copy_n(from, width, to);
  }

  Vec3 factor_;
  Executor& executor_;
};

Result<std::unique_ptr<PreparedGradient>> prepare_shuffle(const GradientProblem& problem, const Estimate&,
                                                          const LayerWeights&, Arena&, Device& device) {
  const Vec3 factor = std::get<UpsampleProblem>(problem.layer).factor;
  return std::unique_ptr<PreparedGradient>(std::make_unique<ShuffleGradient>(factor, device.executor()));
}

}  // namespace

extern constinit const GradientPrimitive grad_shuffle{"cpu.grad.shuffle", 1, DeviceKind::cpu, &describe_shuffle,
                                                      &prepare_shuffle};

}  // namespace znni::cpu
