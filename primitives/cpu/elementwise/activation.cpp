// cpu.activation: an activation that could not be fused into another layer.
#include <algorithm>
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

Result<std::vector<Estimate>> describe_activation(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* activation = std::get_if<ActivationProblem>(&problem);
  if (activation == nullptr) return refusal("cpu.activation", "activations", problem);
  return streaming_estimates(problem, spec, float_formats(spec), activation_flops(activation->activation, spec));
}

class ActivationLayer final : public PreparedLayer {
 public:
  ActivationLayer(Activation activation, Executor& executor) : activation_(activation), executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    const std::int64_t width = block_width(out.format.layout);
    for_each_run(executor_, out, inputs, blocks_of(out), [&](const Run& run, int) {
      const std::span<const float> from = run_of(inputs[0], run);
      const std::span<float> to = run_of(out, run);
      std::copy(from.begin(), from.end(), to.begin());
      activate(activation_, to);
      clear_lanes(to, out.shape.f - run.block * width, width);
    });
    return {};
  }

 private:
  Activation activation_;
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_activation(const LayerProblem& problem, const Estimate&,
                                                          const LayerWeights&, Arena&, Device& device) {
  const auto& activation = std::get<ActivationProblem>(problem);
  return std::unique_ptr<PreparedLayer>(std::make_unique<ActivationLayer>(activation.activation, device.executor()));
}

}  // namespace

extern constinit const Primitive activation{"cpu.activation", 2, DeviceKind::cpu, &describe_activation,
                                            &prepare_activation};

}  // namespace znni::cpu
