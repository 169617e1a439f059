#include "tests/gpu_bench/layer_run.hpp"

#include <algorithm>
#include <random>

namespace znni::gpu_bench {

Result<LayerRun> LayerRun::make(const Primitive& primitive, const LayerProblem& problem, const Estimate& estimate,
                                const LayerWeights& weights, std::byte* block, cuda::CudaDevice& device) {
  LayerRun run;
  run.problem_ = problem;
  run.estimate_ = estimate;
  const Packing packing = pack(estimate.memory, MemorySpace::device);
  for (std::size_t i = 0; i < estimate.memory.size(); ++i) {
    const Buffer& buffer = estimate.memory[i];
    if (!buffer.lifetime.persistent) {
      run.placements_.push_back({buffer, block + packing.offsets[i]});
      continue;
    }
    Result<Reservation> own = device.reserve(MemorySpace::device, buffer.bytes, buffer.name);
    if (!own) return own.error();
    run.placements_.push_back({buffer, own->data()});
    run.persistent_.push_back(std::move(*own));
  }
  Arena persistent(run.placements_);
  Result<std::unique_ptr<PreparedLayer>> layer = primitive.prepare(problem, estimate, weights, persistent, device);
  if (!layer) return layer.error();
  run.layer_ = std::move(*layer);
  return run;
}

TensorView LayerRun::view_of(std::string_view name, const Shape5& shape, Format format) const {
  const auto found = std::find_if(placements_.begin(), placements_.end(),
                                  [&](const Placement& one) { return one.buffer.name == name; });
  ensure(found != placements_.end(), "the estimate declares its tensors");
  return dense_view(reinterpret_cast<float*>(found->data), shape, format);
}

Result<void> LayerRun::run(const TensorView& in, const TensorView& out) {
  Arena arena(placements_);
  const std::vector<TensorView> inputs = {in};
  return layer_->run(inputs, out, arena);
}

std::vector<float> made_values(std::int64_t count, double deviation, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal(0.0F, static_cast<float>(deviation));
  // A period of a prime number of values: enough to be random to a kernel, quick to make.
  constexpr std::int64_t period = 1000003;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = i < period ? normal(engine) : values[static_cast<std::size_t>(i - period)];
  }
  return values;
}

}  // namespace znni::gpu_bench
