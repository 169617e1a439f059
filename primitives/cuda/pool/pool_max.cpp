// cuda.pool.max: strided max pooling.
#include "primitives/cuda/pool/pool_layer.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view max_name = "cuda.pool.max";

Result<std::vector<Estimate>> describe_max(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* pool = std::get_if<PoolProblem>(&problem);
  if (pool == nullptr || pool->mode != PoolMode::plain || pool->kind != PoolKind::max)
    return refusal(max_name, "plain max poolings", problem);
  return describe_pool(max_name, *pool, spec);
}

}  // namespace

extern constinit const Primitive pool_max{max_name, 1, DeviceKind::gpu, &describe_max, &prepare_pool};

}  // namespace znni::cuda
