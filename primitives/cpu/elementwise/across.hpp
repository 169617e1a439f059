// The loop of layers that make each voxel of its channels: chunks of neighbouring voxels, planar, with all their
// channels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "primitives/core/primitive.hpp"
#include "primitives/cpu/elementwise/runs.hpp"

namespace znni::cpu {

// Voxels processed together: what is kept of each stays on the worker's stack.
inline constexpr std::int64_t max_chunk = 256;

// `count` neighbouring voxels of `f` channels; channels are in_f and out_f floats apart.
struct ChannelChunk {
  const float* in = nullptr;
  std::int64_t in_f = 0;
  float* out = nullptr;
  std::int64_t out_f = 0;
  std::int64_t f = 1;
  std::int64_t count = 0;
};

// Computes one chunk of a problem.
using MakeChunk = void (*)(const ChannelChunk& chunk, const AcrossChannelsProblem& problem);

class AcrossLayer final : public PreparedLayer {
 public:
  AcrossLayer(const AcrossChannelsProblem& problem, MakeChunk make, Executor& executor)
      : problem_(problem), make_(make), executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena&) override {
    const TensorView& in = inputs[0];
    for_each_run(executor_, out, inputs, 1, [&](const Run& run, int) {
      const float* from = run_of(in, run).data();
      float* to = run_of(out, run).data();
      for (std::int64_t x = 0; x < run.floats; x += max_chunk) {
        make_({from + x, in.strides.f, to + x, out.strides.f, problem_.in.f, std::min(max_chunk, run.floats - x)},
              problem_);
      }
    });
    return {};
  }

 private:
  AcrossChannelsProblem problem_;
  MakeChunk make_;
  Executor& executor_;
};

// Prepares a layer that computes its chunks by `make`.
template <MakeChunk make>
[[nodiscard]] Result<std::unique_ptr<PreparedLayer>> prepare_across(const LayerProblem& problem, const Estimate&,
                                                                    const LayerWeights&, Arena&, Device& device) {
  const auto& across = std::get<AcrossChannelsProblem>(problem);
  return std::unique_ptr<PreparedLayer>(std::make_unique<AcrossLayer>(across, make, device.executor()));
}

}  // namespace znni::cpu
