#include "primitives/cuda/device/library_memory.hpp"

#include <algorithm>
#include <string>

#include "primitives/cuda/device/status.hpp"

namespace znni::cuda {
namespace {

Result<std::int64_t> free_bytes(const GpuProperties& gpu) {
  std::size_t free = 0;
  std::size_t total = 0;
  const Result<void> read = check(cudaMemGetInfo(&free, &total), gpu.name + ": read free memory");
  if (!read) return read.error();
  return static_cast<std::int64_t>(free);
}

// The handles that a device makes.
struct Handles {
  cublasHandle_t blas = nullptr;
  cudnnHandle_t dnn = nullptr;

  Handles() = default;
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;
  ~Handles() {
    if (dnn != nullptr) static_cast<void>(cudnnDestroy(dnn));
    if (blas != nullptr) static_cast<void>(cublasDestroy(blas));
  }
  Result<void> make() {
    Result<void> made = check(cublasCreate(&blas), "cublasCreate");
    return made ? check(cudnnCreate(&dnn), "cudnnCreate") : made;
  }
};

}  // namespace

Result<GpuMemory> measure_memory(const GpuProperties& gpu) {
  if (Result<void> current = check(cudaSetDevice(gpu.index), gpu.name + ": make current"); !current) {
    return current.error();
  }
  const Result<std::int64_t> before = free_bytes(gpu);
  if (!before) return before.error();
  Handles handles;
  if (Result<void> made = handles.make(); !made) return made.error().within(gpu.name);
  const Result<std::int64_t> after = free_bytes(gpu);
  if (!after) return after.error();
  return GpuMemory{*before, std::max<std::int64_t>(0, *before - *after) + late_code_bytes};
}

}  // namespace znni::cuda
