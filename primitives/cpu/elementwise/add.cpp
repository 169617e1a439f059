// cpu.add: the sum of several tensors with a fused activation, for the places where branches of a net join.
#include <algorithm>
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

Result<std::vector<Estimate>> describe_add(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* add = std::get_if<AddProblem>(&problem);
  if (add == nullptr) return refusal("cpu.add", "additions", problem);
  const double flops = vector_flops(add->inputs, spec) + activation_flops(add->activation, spec);
  return streaming_estimates(problem, spec, float_formats(spec), flops);
}

class AddLayer final : public PreparedLayer {
 public:
  AddLayer(Activation activation, Executor& executor) : activation_(activation), executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    const std::int64_t width = block_width(out.format.layout);
    for_each_run(executor_, out, inputs, blocks_of(out), [&](const Run& run, int) {
      const std::span<float> to = run_of(out, run);
      const std::span<const float> first = run_of(inputs[0], run);
      std::copy(first.begin(), first.end(), to.begin());
      for (const TensorView& input : inputs.subspan(1)) accumulate(run_of(input, run), to);
      activate(activation_, to);
      clear_lanes(to, out.shape.f - run.block * width, width);
    });
    return {};
  }

 private:
  Activation activation_;
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_add(const LayerProblem& problem, const Estimate&, const LayerWeights&,
                                                   Arena&, Device& device) {
  const auto& add = std::get<AddProblem>(problem);
  return std::unique_ptr<PreparedLayer>(std::make_unique<AddLayer>(add.activation, device.executor()));
}

}  // namespace

extern constinit const Primitive add{"cpu.add", 2, DeviceKind::cpu, &describe_add, &prepare_add};

}  // namespace znni::cpu
