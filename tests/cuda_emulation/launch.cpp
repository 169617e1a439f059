#include "tests/cuda_emulation/launch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

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

// Shared memory of a block, in the units in which a GPU aligns it.
struct alignas(16) SharedUnit {
  std::byte bytes[16];
};

constexpr std::size_t shared_bytes = std::size_t{48} << 10;       // that every kernel may have
constexpr std::size_t max_shared_bytes = std::size_t{227} << 10;  // of compute capability 9.0

std::vector<SharedUnit>& shared_units() {
  static std::vector<SharedUnit> units;
  return units;
}

// Bytes that kernels may have, as far as they were asked for.
std::map<const void*, std::size_t>& allowed_bytes() {
  static std::map<const void*, std::size_t> allowed;
  return allowed;
}

SharedUnit not_a_number() {
  SharedUnit unit{};
  std::memset(&unit, 0xff, sizeof(unit));
  return unit;
}

}  // namespace

void* launched_shared_memory() { return shared_units().data(); }

cudaError_t check_shared_memory(const void* kernel, std::size_t bytes) {
  const auto found = allowed_bytes().find(kernel);
  const std::size_t most = found == allowed_bytes().end() ? shared_bytes : std::max(shared_bytes, found->second);
  return bytes <= most ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t run_grid(const cudaLaunchConfig_t& config, const std::function<void()>& kernel) {
  static std::mutex one_at_a_time;
  static bool backwards = true;
  if (!is_launchable(config.gridDim, config.blockDim)) return fail(cudaErrorInvalidConfiguration);
  const std::lock_guard lock(one_at_a_time);
  backwards = !backwards;
  gridDim = config.gridDim;
  blockDim = config.blockDim;
  shared_units().assign((config.dynamicSmemBytes + sizeof(SharedUnit) - 1) / sizeof(SharedUnit), not_a_number());
  const Access access;
  const std::string wrong = run_blocks({config.gridDim, config.blockDim, backwards}, kernel);
  if (wrong.empty()) return cudaSuccess;
  std::fprintf(stderr, "emulation of CUDA: %s\n", wrong.c_str());
  return fail(cudaErrorLaunchFailure);
}

}  // namespace znni::cuda_emulation

cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  namespace emulation = znni::cuda_emulation;
  const bool known = attribute == cudaFuncAttributeMaxDynamicSharedMemorySize && value >= 0 &&
                     static_cast<std::size_t>(value) <= emulation::max_shared_bytes;
  if (!known) return emulation::fail(cudaErrorInvalidValue);
  emulation::allowed_bytes()[kernel] = static_cast<std::size_t>(value);
  return cudaSuccess;
}
