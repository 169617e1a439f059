// cuda.pool.average: strided average pooling, also of what lies inside alone.
#include "primitives/cuda/pool/pool_layer.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view average_name = "cuda.pool.average";

Result<std::vector<Estimate>> describe_average(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* pool = std::get_if<PoolProblem>(&problem);
  if (pool == nullptr || pool->mode != PoolMode::plain || pool->kind == PoolKind::max)
    return refusal(average_name, "plain average poolings", problem);
  return describe_pool(average_name, *pool, spec);
}

}  // namespace

extern constinit const Primitive pool_average{average_name, 1, DeviceKind::gpu, &describe_average, &prepare_pool};

}  // namespace znni::cuda
