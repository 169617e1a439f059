// cpu.multiply: the product of two tensors, for gates. The second may have one channel, then planar, which multiplies
// every channel.
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"

namespace znni::cpu {
namespace {

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* product = std::get_if<MultiplyProblem>(&problem);
  if (product == nullptr) return refusal("cpu.multiply", "products of two tensors", problem);
  const bool alike = product->f_other == product->in.f;
  const std::vector<Format> formats = alike ? float_formats(spec) : std::vector<Format>{planar_format};
  return streaming_estimates(problem, spec, formats, vector_flops(2.0, spec));
}

class MultiplyLayer final : public PreparedLayer {
 public:
  explicit MultiplyLayer(Executor& executor) : executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    const bool alike = inputs[1].shape.f == out.shape.f;
    for_each_run(executor_, out, inputs, blocks_of(out), [&](const Run& run, int) {
      Run other_run = run;
      if (!alike) other_run.block = 0;
      const std::span<const float> first = run_of(inputs[0], run);
      const std::span<const float> other = run_of(inputs[1], other_run);
      const std::span<float> to = run_of(out, run);
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = first[i] * other[i];
    });
    return {};
  }

 private:
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare(const LayerProblem&, const Estimate&, const LayerWeights&, Arena&,
                                               Device& device) {
  return std::unique_ptr<PreparedLayer>(std::make_unique<MultiplyLayer>(device.executor()));
}

}  // namespace

extern constinit const Primitive multiply_tensors{"cpu.multiply", 2, DeviceKind::cpu, &describe, &prepare};

}  // namespace znni::cpu
