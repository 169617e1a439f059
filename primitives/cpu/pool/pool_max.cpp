// cpu.pool.max: plain strided max pooling.
#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/pool/pool_layer.hpp"

namespace znni::cpu {
namespace {

Result<std::vector<Estimate>> describe_max(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* pool = std::get_if<PoolProblem>(&problem);
  if (pool == nullptr || pool->kind != PoolKind::max || pool->mode != PoolMode::plain) {
    return refusal("cpu.pool.max", "plain max poolings", problem);
  }
  return describe_pool(*pool, spec);
}

}  // namespace

extern constinit const Primitive pool_max{"cpu.pool.max", 4, DeviceKind::cpu, &describe_max, &prepare_pool};

}  // namespace znni::cpu
