// cpu.grad.multiply: gradients of a product of two tensors: the output's gradient times the other factor. If the second
// factor is one channel, which multiplies every channel, its gradient is the sum over channels, then planar.
#include <algorithm>
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/grad/gradients.hpp"

namespace znni::cpu {
namespace {

Result<std::vector<Estimate>> describe_multiply(const GradientProblem& problem, const DeviceSpec& spec) {
  const auto* product = std::get_if<MultiplyProblem>(&problem.layer);
  if (product == nullptr) return refusal("cpu.grad.multiply", "gradients of products of two tensors", problem);
  const bool alike = product->f_other == product->in.f;
  const std::vector<Format> formats = alike ? float_formats(spec) : std::vector<Format>{planar_format};
  const std::int64_t summed = problem.input == 0 ? 1 : product->in.f / product->f_other;
  return streaming_gradients(problem, spec, formats, vector_flops(2.0 * static_cast<double>(summed), spec));
}

class MultiplyGradient final : public PreparedGradient {
 public:
  explicit MultiplyGradient(Executor& executor) : executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena&) override {
    const TensorView read[] = {views.output, views.saved};
    const bool sums = views.gradient.shape.f < views.output.shape.f;
    for_each_run(executor_, views.gradient, read, blocks_of(views.gradient), [&](const Run& run, int) {
      const std::span<float> to = run_of(views.gradient, run);
      std::fill(to.begin(), to.end(), 0.0F);
      Run from = run;
      const std::int64_t count = sums ? views.output.shape.f : 1;
      for (std::int64_t i = 0; i < count; ++i, ++from.block) add_products(views, from, to);
    });
    return {};
  }

 private:
  // Adds the products of one block. A factor of one channel belongs to all of them.
  static void add_products(const GradientViews& views, const Run& run, std::span<float> to) {
    Run factor = run;
    if (views.saved.shape.f < views.output.shape.f) factor.block = 0;
    const std::span<const float> output = run_of(views.output, run);
    const std::span<const float> saved = run_of(views.saved, factor);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += output[i] * saved[i];
  }

  Executor& executor_;
};

Result<std::unique_ptr<PreparedGradient>> prepare_multiply(const GradientProblem&, const Estimate&, const LayerWeights&,
                                                           Arena&, Device& device) {
  return std::unique_ptr<PreparedGradient>(std::make_unique<MultiplyGradient>(device.executor()));
}

}  // namespace

extern constinit const GradientPrimitive grad_multiply{"cpu.grad.multiply", 1, DeviceKind::cpu, &describe_multiply,
                                                       &prepare_multiply};

}  // namespace znni::cpu
