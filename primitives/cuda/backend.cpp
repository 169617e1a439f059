#include "primitives/cuda/backend.hpp"

#include "primitives/cuda/device/cuda_device.hpp"
#include "primitives/cuda/device/gpu_properties.hpp"
#include "primitives/cuda/device/library_memory.hpp"
#include "primitives/gpu/notes.hpp"

namespace znni::cuda {
namespace {

std::vector<DeviceSpec> probe() {
  std::vector<DeviceSpec> specs;
  for (const GpuProperties& gpu : read_gpus()) specs.push_back(spec_of(gpu));
  return specs;
}

Result<GpuProperties> find_gpu(const DeviceSpec& spec) {
  std::string found;
  for (const GpuProperties& gpu : read_gpus()) {
    if (gpu.name == spec.name) return gpu;
    found += (found.empty() ? "" : ", ") + gpu.name;
  }
  return Error{ErrorCode::not_found, "no GPU '" + spec.name + "' on this machine; there is " +
                                         (found.empty() ? "none, or no driver for CUDA 13" : found)};
}

Result<std::unique_ptr<Device>> open(const DeviceSpec& spec, std::int64_t host_budget, std::int64_t pinned_budget,
                                     std::int64_t device_budget) {
  const Result<GpuProperties> gpu = find_gpu(spec);
  if (!gpu) return gpu.error();
  Result<std::unique_ptr<CudaDevice>> device =
      open_cuda_device(*gpu, host_budget, pinned_budget, device_budget, spec.threads);
  if (!device) return device.error();
  return std::unique_ptr<Device>(std::move(*device));
}

Result<GpuMemory> memory(const DeviceSpec& spec) {
  const Result<GpuProperties> gpu = find_gpu(spec);
  return gpu ? measure_memory(*gpu) : gpu.error();
}

std::vector<std::string> take_notes() { return backend_notes().take(); }

}  // namespace

const Backend& backend() {
  static const Backend cuda{"cuda", &probe, &open, registry(), &memory, &take_notes};
  return cuda;
}

}  // namespace znni::cuda
