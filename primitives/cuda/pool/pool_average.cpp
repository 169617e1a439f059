// cuda.pool.average: strided average pooling.
#include "primitives/cuda/pool/pool_layer.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view name = "cuda.pool.average";

Result<std::vector<Estimate>> describe(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* pool = std::get_if<PoolProblem>(&problem);
  if (pool == nullptr || pool->mode != PoolMode::plain || pool->kind != PoolKind::average)
    return refusal(name, "plain average poolings", problem);
  return describe_pool(name, *pool, spec);
}

}  // namespace

extern constinit const Primitive pool_average{name, 1, DeviceKind::gpu, &describe, &prepare_pool};

}  // namespace znni::cuda
