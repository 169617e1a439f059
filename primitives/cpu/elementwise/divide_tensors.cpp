// cpu.divide: the quotient of two tensors. The second may have one channel, then planar, which divides every channel.
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

// Vector instructions in whose time a division of a vector is done.
constexpr double cycles_per_division = 8.0;

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* quotient = std::get_if<DivideProblem>(&problem);
  if (quotient == nullptr) return refusal("cpu.divide", "quotients of two tensors", problem);
  const bool alike = quotient->f_other == quotient->in.f;
  const std::vector<Format> formats = alike ? float_formats(spec) : std::vector<Format>{planar_format};
  return streaming_estimates(problem, spec, formats, vector_flops(cycles_per_division, spec));
}

class DivideLayer final : public PreparedLayer {
 public:
  explicit DivideLayer(Executor& executor) : executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    const bool alike = inputs[1].shape.f == out.shape.f;
    const std::int64_t width = block_width(out.format.layout);
    for_each_run(executor_, out, inputs, blocks_of(out), [&](const Run& run, int) {
      Run other_run = run;
      if (!alike) other_run.block = 0;
      const std::span<const float> first = run_of(inputs[0], run);
      const std::span<const float> other = run_of(inputs[1], other_run);
      const std::span<float> to = run_of(out, run);
      for (std::size_t i = 0; i < to.size(); ++i) to[i] = first[i] / other[i];
      clear_lanes(to, out.shape.f - run.block * width, width);  // they are quotients of zeros
    });
    return {};
  }

 private:
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare(const LayerProblem&, const Estimate&, const LayerWeights&, Arena&,
                                               Device& device) {
  return std::unique_ptr<PreparedLayer>(std::make_unique<DivideLayer>(device.executor()));
}

}  // namespace

extern constinit const Primitive divide_tensors{"cpu.divide", 1, DeviceKind::cpu, &describe, &prepare};

}  // namespace znni::cpu
