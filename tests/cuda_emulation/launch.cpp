#include "tests/cuda_emulation/launch.hpp"

#include <cstdio>
#include <mutex>
#include <string>

#include "tests/cuda_emulation/block_runner.hpp"

constinit thread_local uint3 threadIdx{};
constinit thread_local uint3 blockIdx{};
dim3 blockDim;
dim3 gridDim;

namespace znni::cuda_emulation {
namespace {

// Returns true if a launch keeps the limits of CUDA's compute capabilities from 7.5 on.
bool is_launchable(dim3 grid, dim3 block) {
  const bool has_threads = grid.x > 0 && grid.y > 0 && grid.z > 0 && block.x > 0 && block.y > 0 && block.z > 0;
  return has_threads && grid.x <= 2147483647U && grid.y <= 65535 && grid.z <= 65535 && block.x <= 1024 &&
         block.y <= 1024 && block.z <= 64 && count_of(block) <= 1024;
}

}  // namespace

cudaError_t run_grid(const cudaLaunchConfig_t& config, const std::function<void()>& kernel) {
  static std::mutex one_at_a_time;
  static bool backwards = true;
  if (!is_launchable(config.gridDim, config.blockDim)) return fail(cudaErrorInvalidConfiguration);
  const std::lock_guard lock(one_at_a_time);
  backwards = !backwards;
  gridDim = config.gridDim;
  blockDim = config.blockDim;
  const Access access;
  const std::string wrong = run_blocks({config.gridDim, config.blockDim, backwards}, kernel);
  if (wrong.empty()) return cudaSuccess;
  std::fprintf(stderr, "emulation of CUDA: %s\n", wrong.c_str());
  return fail(cudaErrorLaunchFailure);
}

}  // namespace znni::cuda_emulation
