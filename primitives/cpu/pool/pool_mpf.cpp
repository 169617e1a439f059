// cpu.pool.mpf: max-pooling fragments (MPF; ZNNi section V): the pooling at every offset; each offset gives an input of
// its own. Also handles average pooling and windows that differ from the stride.
#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/pool/pool_layer.hpp"

namespace znni::cpu {
namespace {

Result<std::vector<Estimate>> describe_mpf(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* pool = std::get_if<PoolProblem>(&problem);
  if (pool == nullptr || pool->mode != PoolMode::fragments || pool->kind == PoolKind::average_inside) {
    return refusal("cpu.pool.mpf", "poolings into fragments", problem);
  }
  return describe_pool(*pool, spec);
}

}  // namespace

extern constinit const Primitive pool_mpf{"cpu.pool.mpf", 4, DeviceKind::cpu, &describe_mpf, &prepare_pool};

}  // namespace znni::cpu
