// cpu.grad.divide: gradients of a quotient q = a / b of two tensors, given that of q, g: of the dividend g / b, of the
// divisor -g q / b. If the divisor is one channel, which divides every channel, its gradient is the sum over channels,
// and tensors are planar.
#include <algorithm>
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/grad/gradients.hpp"
#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

// Vector instructions in whose time a division of a vector is done.
constexpr double cycles_per_division = 8.0;

Result<std::vector<Estimate>> describe_divide(const GradientProblem& problem, const DeviceSpec& spec) {
  const auto* quotient = std::get_if<DivideProblem>(&problem.layer);
  if (quotient == nullptr) return refusal("cpu.grad.divide", "gradients of quotients of two tensors", problem);
  const bool alike = quotient->f_other == quotient->in.f;
  const std::vector<Format> formats = alike ? float_formats(spec) : std::vector<Format>{planar_format};
  const auto summed = static_cast<double>(problem.input == 0 ? 0 : quotient->in.f / quotient->f_other);
  return streaming_gradients(problem, spec, formats, vector_flops(cycles_per_division + 2.0 * summed, spec));
}

// Divides a run by the divisor. Padding channels are quotients of zeros, and become zeros.
void divide_by(std::span<const float> divisor, const TensorView& written, const Run& run, std::span<float> to) {
  const std::int64_t width = block_width(written.format.layout);
  for (std::size_t i = 0; i < to.size(); ++i) to[i] /= divisor[i];
  clear_lanes(to, written.shape.f - run.block * width, width);
}

class DividendGradient final : public PreparedGradient {
 public:
  explicit DividendGradient(Executor& executor) : executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena&) override {
    const TensorView read[] = {views.output, views.saved};
    const bool alike = views.saved.shape.f == views.gradient.shape.f;
    for_each_run(executor_, views.gradient, read, blocks_of(views.gradient), [&](const Run& run, int) {
      const std::span<const float> output = run_of(views.output, run);
      const std::span<float> to = run_of(views.gradient, run);
      std::copy(output.begin(), output.end(), to.begin());
      Run by = run;
      if (!alike) by.block = 0;
      divide_by(run_of(views.saved, by), views.gradient, run, to);
    });
    return {};
  }

 private:
  Executor& executor_;
};

class DivisorGradient final : public PreparedGradient {
 public:
  explicit DivisorGradient(Executor& executor) : executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena&) override {
    const TensorView read[] = {views.output, views.saved, views.result};
    const bool sums = views.gradient.shape.f < views.output.shape.f;
    for_each_run(executor_, views.gradient, read, blocks_of(views.gradient), [&](const Run& run, int) {
      const std::span<float> to = run_of(views.gradient, run);
      std::fill(to.begin(), to.end(), 0.0F);
      Run from = run;
      const std::int64_t count = sums ? views.output.shape.f : 1;
      for (std::int64_t i = 0; i < count; ++i, ++from.block) {
        subtract_products(run_of(views.output, from), run_of(views.result, from), to);
      }
      divide_by(run_of(views.saved, run), views.gradient, run, to);
    });
    return {};
  }

 private:
  static void subtract_products(std::span<const float> output, std::span<const float> quotients, std::span<float> to) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] -= output[i] * quotients[i];
  }

  Executor& executor_;
};

Result<std::unique_ptr<PreparedGradient>> prepare_divide(const GradientProblem& problem, const Estimate&,
                                                         const LayerWeights&, Arena&, Device& device) {
  using Made = std::unique_ptr<PreparedGradient>;
  if (problem.input == 0) return Made(std::make_unique<DividendGradient>(device.executor()));
  return Made(std::make_unique<DivisorGradient>(device.executor()));
}

}  // namespace

extern constinit const GradientPrimitive grad_divide{"cpu.grad.divide", 1, DeviceKind::cpu, &describe_divide,
                                                     &prepare_divide};

}  // namespace znni::cpu
