// cpu.add_volume: the sum of a tensor and a constant volume, planar. It reads the network's own numbers, and keeps no
// copy.
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"

namespace znni::cpu {
namespace {

Result<std::vector<Estimate>> describe_add_volume(const LayerProblem& problem, const DeviceSpec& spec) {
  if (!std::holds_alternative<AddVolumeProblem>(problem)) {
    return refusal("cpu.add_volume", "sums with a constant volume", problem);
  }
  return streaming_estimates(problem, spec, {planar_format}, vector_flops(2.0, spec));
}

class AddVolumeLayer final : public PreparedLayer {
 public:
  AddVolumeLayer(std::span<const float> volume, Executor& executor) : volume_(volume), executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    const Vec3 n = out.shape.n;
    for_each_run(executor_, out, inputs, out.shape.f, [&](const Run& run, int) {
      const std::int64_t row = (run.block * n.z + run.start.z) * n.y + run.start.y;
      const float* const own = volume_.data() + row * n.x;
      const std::span<const float> from = run_of(inputs[0], run);
      const std::span<float> to = run_of(out, run);
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i] + own[i];
    });
    return {};
  }

 private:
  std::span<const float> volume_;  // [f][z][y][x]
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_add_volume(const LayerProblem&, const Estimate&,
                                                          const LayerWeights& weights, Arena&, Device& device) {
  return std::unique_ptr<PreparedLayer>(std::make_unique<AddVolumeLayer>(weights.shift, device.executor()));
}

}  // namespace

extern constinit const Primitive add_volume{"cpu.add_volume", 1, DeviceKind::cpu, &describe_add_volume,
                                            &prepare_add_volume};

}  // namespace znni::cpu
