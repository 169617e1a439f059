// cuda.pool.mpf: max-pooling fragments (ZNNi section V), all in one kernel; average poolings are taken alike.
#include "primitives/cuda/pool/pool_layer.hpp"
#include "primitives/gpu/estimates.hpp"

namespace znni::cuda {
namespace {

constexpr std::string_view mpf_name = "cuda.pool.mpf";

Result<std::vector<Estimate>> describe_mpf(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* pool = std::get_if<PoolProblem>(&problem);
  if (pool == nullptr || pool->mode != PoolMode::fragments)
    return refusal(mpf_name, "poolings into fragments", problem);
  return describe_pool(mpf_name, *pool, spec);
}

}  // namespace

extern constinit const Primitive pool_mpf{mpf_name, 1, DeviceKind::gpu, &describe_mpf, &prepare_pool};

}  // namespace znni::cuda
