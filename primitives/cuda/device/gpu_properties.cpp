#include "primitives/cuda/device/gpu_properties.hpp"

#include <cuda_runtime_api.h>

#include <utility>

#include "primitives/cuda/device/min_capability.hpp"

namespace znni::cuda {
namespace {

// Multiply-adds of float32, and of bf16 by the matrix units, per cycle and multiprocessor; tf32 has half of the latter.
struct Units {
  double float32 = 64;
  double bf16 = 0;
};

Units units_of(int capability) {
  if (capability >= 120) return {128, 512};
  if (capability >= 100) return {128, 4096};
  if (capability >= 90) return {128, 2048};
  if (capability >= 86) return {128, 512};
  if (capability >= 80) return {64, 1024};
  return {64, 0};
}

// The clock of a GPU whose driver says nothing, or 0.
constexpr double assumed_hertz = 1.5e9;
constexpr double assumed_memory_hertz = 2e9;
constexpr int assumed_bus_bits = 256;

// Share of the pins' rate that a copy reaches.
constexpr double memory_share = 0.88;
// PCI Express to pinned memory, by generation of the chip. Assumed until measured.
constexpr double link_before_90 = 24e9;
constexpr double link_from_90 = 50e9;
constexpr double duplex = 1.8;
constexpr double staging = 20e9;  // by the device's host threads together

// Returns an attribute of a device; 0 if the driver does not tell.
int attribute(cudaDeviceAttr name, int device) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, name, device) == cudaSuccess) return value;
  static_cast<void>(cudaGetLastError());
  return 0;
}

GpuProperties properties_of(const cudaDeviceProp& device, int index) {
  GpuProperties gpu;
  gpu.name = device.name;
  gpu.index = index;
  gpu.compute_capability = 10 * device.major + device.minor;
  gpu.multiprocessors = device.multiProcessorCount;
  gpu.memory_bytes = static_cast<std::int64_t>(device.totalGlobalMem);
  gpu.l2_bytes = device.l2CacheSize;
  gpu.hertz = 1e3 * attribute(cudaDevAttrClockRate, index);
  gpu.memory_hertz = 2e3 * attribute(cudaDevAttrMemoryClockRate, index);  // both edges
  gpu.memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, index);
  return with_assumed_rates(std::move(gpu));
}

}  // namespace

std::vector<GpuProperties> read_gpus() {
  std::vector<GpuProperties> gpus;
  int count = 0;  // left as it is when there is no driver
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return gpus;
  }
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp device{};
    if (cudaGetDeviceProperties(&device, index) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      continue;
    }
    GpuProperties gpu = properties_of(device, index);
    if (gpu.compute_capability >= min_capability) gpus.push_back(std::move(gpu));
  }
  return gpus;
}

GpuProperties with_assumed_rates(GpuProperties gpu) {
  if (gpu.hertz <= 0) gpu.hertz = assumed_hertz;
  if (gpu.memory_hertz <= 0) gpu.memory_hertz = assumed_memory_hertz;
  if (gpu.memory_bus_bits <= 0) gpu.memory_bus_bits = assumed_bus_bits;
  return gpu;
}

DeviceSpec spec_of(const GpuProperties& gpu) {
  const Units units = units_of(gpu.compute_capability);
  const double cycles = gpu.hertz * gpu.multiprocessors;
  const double link = gpu.compute_capability >= 90 ? link_from_90 : link_before_90;
  DeviceSpec spec;
  spec.name = gpu.name;
  spec.kind = DeviceKind::gpu;
  spec.threads = 1;
  spec.simd_floats = 32;
  spec.flops_per_second = 2.0 * units.float32 * cycles;
  spec.bytes_per_second = memory_share * gpu.memory_hertz * gpu.memory_bus_bits / 8.0;
  spec.l2_bytes = gpu.l2_bytes;
  spec.l3_bytes = gpu.l2_bytes;
  spec.hertz = gpu.hertz;
  spec.accelerator.memory_bytes = gpu.memory_bytes;
  spec.accelerator.bf16_flops_per_second = 2.0 * units.bf16 * cycles;
  spec.accelerator.tf32_flops_per_second = units.bf16 * cycles;
  spec.accelerator.up = {1e-5, link};
  spec.accelerator.down = {1e-5, link};
  spec.accelerator.duplex_bytes_per_second = duplex * link;
  spec.accelerator.staging_bytes_per_second = staging;
  spec.accelerator.compute_capability = gpu.compute_capability;
  return spec;
}

GpuProperties h200() {
  GpuProperties gpu;
  gpu.name = "NVIDIA H200";
  gpu.compute_capability = 90;
  gpu.multiprocessors = 132;
  gpu.memory_bytes = 150121545728;
  gpu.l2_bytes = 62914560;
  gpu.hertz = 1.98e9;
  gpu.memory_hertz = 6.402e9;
  gpu.memory_bus_bits = 6144;
  return gpu;
}

}  // namespace znni::cuda
