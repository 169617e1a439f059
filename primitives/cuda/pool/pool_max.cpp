// cuda.pool.max: strided max pooling.
#include "primitives/cuda/pool/pool_layer.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view name = "cuda.pool.max";

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* pool = std::get_if<PoolProblem>(&problem);
  if (pool == nullptr || pool->mode != PoolMode::plain || pool->kind != PoolKind::max)
    return refusal(name, "plain max poolings", problem);
  return describe_pool(name, *pool, spec);
}

}  // namespace

extern constinit const Primitive pool_max{name, 1, DeviceKind::gpu, &describe, &prepare_pool};

}  // namespace znni::cuda
