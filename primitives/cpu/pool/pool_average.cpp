// cpu.pool.average: plain strided average pooling.
#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/pool/pool_layer.hpp"

namespace znni::cpu {
namespace {

Result<std::vector<Estimate>> describe_average(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* pool = std::get_if<PoolProblem>(&problem);
  if (pool == nullptr || pool->kind != PoolKind::average || pool->mode != PoolMode::plain) {
    return refusal("cpu.pool.average", "plain average poolings", problem);
  }
  return describe_pool(*pool, spec);
}

}  // namespace

extern constinit const Primitive pool_average{"cpu.pool.average", 3, DeviceKind::cpu, &describe_average, &prepare_pool};

}  // namespace znni::cpu
