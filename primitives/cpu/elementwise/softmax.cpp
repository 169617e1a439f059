// cpu.softmax: softmax over the channels of each voxel, planar. The largest value is subtracted first, so that no
// exponential overflows.
#include <algorithm>
#include <array>
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

// Voxels processed together: their largest values and sums stay on the worker's stack.
constexpr std::int64_t chunk = 256;
// Measured instructions per element besides its exponential: the passes over it, including a division.
constexpr double instructions = 20.0;

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  if (!std::holds_alternative<SoftmaxProblem>(problem)) return refusal("cpu.softmax", "softmax", problem);
  return streaming_estimates(problem, spec, {planar_format},
                             exponential_flops(spec) + vector_flops(instructions, spec));
}

// Computes the softmax of `count` neighbouring voxels; channels are in_f and out_f floats apart.
void softmax_chunk(const float* in, std::int64_t in_f, float* out, std::int64_t out_f, std::int64_t f,
                   std::int64_t count) {
  std::array<float, chunk> most;
  std::array<float, chunk> sum{};
  std::copy_n(in, count, most.begin());
  for (std::int64_t j = 1; j < f; ++j) {
    for (std::int64_t x = 0; x < count; ++x) {
      most[static_cast<std::size_t>(x)] = std::max(most[static_cast<std::size_t>(x)], in[j * in_f + x]);
    }
  }
  for (std::int64_t j = 0; j < f; ++j) {
    float* const powers = out + j * out_f;
    for (std::int64_t x = 0; x < count; ++x) powers[x] = in[j * in_f + x] - most[static_cast<std::size_t>(x)];
    exponentiate({powers, static_cast<std::size_t>(count)});
    for (std::int64_t x = 0; x < count; ++x) sum[static_cast<std::size_t>(x)] += powers[x];
  }
  for (std::int64_t j = 0; j < f; ++j) {
    for (std::int64_t x = 0; x < count; ++x) out[j * out_f + x] /= sum[static_cast<std::size_t>(x)];
  }
}

class SoftmaxLayer final : public PreparedLayer {
 public:
  explicit SoftmaxLayer(Executor& executor) : executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    const TensorView& in = inputs[0];
    for_each_run(executor_, out, inputs, 1, [&](const Run& run, int) {
      const float* from = run_of(in, run).data();
      float* to = run_of(out, run).data();
      for (std::int64_t x = 0; x < run.floats; x += chunk) {
        softmax_chunk(from + x, in.strides.f, to + x, out.strides.f, out.shape.f, std::min(chunk, run.floats - x));
      }
    });
    return {};
  }

 private:
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare(const LayerProblem&, const Estimate&, const LayerWeights&, Arena&,
                                               Device& device) {
  return std::unique_ptr<PreparedLayer>(std::make_unique<SoftmaxLayer>(device.executor()));
}

}  // namespace

extern constinit const Primitive softmax{"cpu.softmax", 2, DeviceKind::cpu, &describe, &prepare};

}  // namespace znni::cpu
