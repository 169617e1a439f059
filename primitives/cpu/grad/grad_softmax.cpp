// cpu.grad.softmax: gradients of softmax over channels and of its logarithm, planar, from the layer's output. With g
// the output's gradient and y the softmax, that of channel i is y[i] (g[i] - sum over j of y[j] g[j]); of the logarithm
// g[i] - y[i] sum over j of g[j].
#include <algorithm>
#include <array>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/grad/gradients.hpp"
#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

constexpr std::int64_t chunk = 256;  // voxels processed together
// Instructions per element besides an exponential.
constexpr double softmax_instructions = 6.0;

Result<std::vector<Estimate>> describe_softmax(const GradientProblem& problem, const DeviceSpec& spec) {
  const auto* across = std::get_if<AcrossChannelsProblem>(&problem.layer);
  if (across == nullptr) return refusal("cpu.grad.softmax", "gradients of softmax and its logarithm", problem);
  const double power = across->kind == AcrossKind::log_softmax ? exponential_flops(spec) : 0.0;
  return streaming_gradients(problem, spec, {planar_format}, power + vector_flops(softmax_instructions, spec));
}

// Neighbouring voxels with all their channels; channels are `*_f` floats apart.
struct Voxels {
  const float* output = nullptr;
  std::int64_t output_f = 0;
  const float* saved = nullptr;
  std::int64_t saved_f = 0;
  float* to = nullptr;
  std::int64_t to_f = 0;
  std::int64_t f = 1;
  std::int64_t count = 0;
};

void softmax_gradient(const Voxels& v) {
  std::array<float, chunk> sums{};
  for (std::int64_t j = 0; j < v.f; ++j) {
    const float* const g = v.output + j * v.output_f;
    const float* const y = v.saved + j * v.saved_f;
    for (std::int64_t x = 0; x < v.count; ++x) sums[static_cast<std::size_t>(x)] += y[x] * g[x];
  }
  for (std::int64_t j = 0; j < v.f; ++j) {
    const float* const g = v.output + j * v.output_f;
    const float* const y = v.saved + j * v.saved_f;
    float* const to = v.to + j * v.to_f;
    for (std::int64_t x = 0; x < v.count; ++x) to[x] = y[x] * (g[x] - sums[static_cast<std::size_t>(x)]);
  }
}

void log_softmax_gradient(const Voxels& v) {
  std::array<float, chunk> sums{};
  for (std::int64_t j = 0; j < v.f; ++j) {
    const float* const g = v.output + j * v.output_f;
    for (std::int64_t x = 0; x < v.count; ++x) sums[static_cast<std::size_t>(x)] += g[x];
  }
  for (std::int64_t j = 0; j < v.f; ++j) {
    const float* const g = v.output + j * v.output_f;
    float* const to = v.to + j * v.to_f;
    std::copy_n(v.saved + j * v.saved_f, v.count, to);
    exponentiate({to, static_cast<std::size_t>(v.count)});
    for (std::int64_t x = 0; x < v.count; ++x) to[x] = g[x] - to[x] * sums[static_cast<std::size_t>(x)];
  }
}

class SoftmaxGradient final : public PreparedGradient {
 public:
  SoftmaxGradient(bool is_log, Executor& executor) : is_log_(is_log), executor_(executor) {}

  Result<void> run(const GradientViews& views, Arena&) override {
    const TensorView read[] = {views.output, views.saved};
    for_each_run(executor_, views.gradient, read, 1, [&](const Run& run, int) {
      for (std::int64_t x = 0; x < run.floats; x += chunk) {
        const Voxels voxels{run_of(views.output, run).data() + x,
                            views.output.strides.f,
                            run_of(views.saved, run).data() + x,
                            views.saved.strides.f,
                            run_of(views.gradient, run).data() + x,
                            views.gradient.strides.f,
                            views.gradient.shape.f,
                            std::min(chunk, run.floats - x)};
        is_log_ ? log_softmax_gradient(voxels) : softmax_gradient(voxels);
      }
    });
    return {};
  }

 private:
  bool is_log_;
  Executor& executor_;
};

Result<std::unique_ptr<PreparedGradient>> prepare_softmax(const GradientProblem& problem, const Estimate&,
                                                          const LayerWeights&, Arena&, Device& device) {
  const bool is_log = std::get<AcrossChannelsProblem>(problem.layer).kind == AcrossKind::log_softmax;
  return std::unique_ptr<PreparedGradient>(std::make_unique<SoftmaxGradient>(is_log, device.executor()));
}

}  // namespace

extern constinit const GradientPrimitive grad_softmax{"cpu.grad.softmax", 1, DeviceKind::cpu, &describe_softmax,
                                                      &prepare_softmax};

}  // namespace znni::cpu
