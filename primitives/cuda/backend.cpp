#include "primitives/cuda/backend.hpp"

#include "primitives/cuda/cuda_device.hpp"
#include "primitives/cuda/gpu_properties.hpp"

namespace znni::cuda {
namespace {

std::vector<DeviceSpec> probe() {
  std::vector<DeviceSpec> specs;
  for (const GpuProperties& gpu : read_gpus()) specs.push_back(spec_of(gpu));
  return specs;
}

Result<std::unique_ptr<Device>> open(const DeviceSpec& spec, std::int64_t host_budget, std::int64_t pinned_budget,
                                     std::int64_t device_budget) {
  std::string found;
  for (const GpuProperties& gpu : read_gpus()) {
    if (gpu.name != spec.name) {
      found += (found.empty() ? "" : ", ") + gpu.name;
      continue;
    }
    Result<std::unique_ptr<CudaDevice>> device =
        open_cuda_device(gpu, host_budget, pinned_budget, device_budget, spec.threads);
    if (!device) return device.error();
    return std::unique_ptr<Device>(std::move(*device));
  }
  return Error{ErrorCode::not_found, "no GPU '" + spec.name + "' on this machine; there is " +
                                         (found.empty() ? "none, or no driver for CUDA 13" : found)};
}

}  // namespace

const Backend& backend() {
  static const Backend cuda{"cuda", &probe, &open, registry()};
  return cuda;
}

}  // namespace znni::cuda
