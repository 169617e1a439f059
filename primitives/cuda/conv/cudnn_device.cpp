#include "primitives/cuda/conv/cudnn_device.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "primitives/cuda/device/status.hpp"

namespace znni::cuda {
namespace {

std::string field(std::string_view name, std::int64_t value) {
  return "\"" + std::string(name) + "\":" + std::to_string(value) + ",";
}

std::int64_t kilohertz(double hertz) { return static_cast<std::int64_t>(hertz / 1e3); }

// Limits of compute capability 9.0. The keys are those of cuDNN 9.19, which does not document them.
std::string limits_of_90() {
  return R"("maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"warpSize":32,)"
         R"("maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":232448,"reservedSharedMemoryPerBlock":1024,)"
         R"("maxRegistersPerSM":65536,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,)"
         R"("pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"driverVer":13000,)";
}

// Limits of other GPUs are not known here.
bool has_known_limits(const GpuProperties& gpu) { return gpu.compute_capability == 90; }

Result<CudnnDescriptor> described_by_driver(const GpuProperties& gpu) {
  CudnnDescriptor device(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "device description");
  const auto index = static_cast<std::int32_t>(gpu.index);
  device.set(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, CUDNN_TYPE_INT32, 1, &index);
  if (Result<void> made = device.finalise(); !made) return made.error();
  return device;
}

Result<CudnnDescriptor> described_by_hand(const GpuProperties& gpu) {
  CudnnDescriptor device(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "device description");
  const std::string description = cudnn_description(gpu);
  device.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
             static_cast<std::int64_t>(description.size()) + 1, description.c_str());
  if (Result<void> made = device.finalise(); !made) return made.error();
  return device;
}

Result<CudnnDescriptor> device_of(const GpuProperties& gpu, Notes& notes) {
  Result<CudnnDescriptor> device = described_by_driver(gpu);
  if (device || !has_known_limits(gpu)) return device;
  notes.add("'" + gpu.name + "': the driver gives cuDNN no description of it (" + device.error().message +
            "): its engines are those for a description of our own");
  return described_by_hand(gpu);
}

}  // namespace

Result<void> check_cudnn_version(std::size_t version) {
  if (version >= min_cudnn_version) return {};
  return Error{ErrorCode::unsupported, "cuDNN is of version " + std::to_string(version) +
                                           ", whose 3D convolutions are not to be trusted; install 9.15 or newer"};
}

std::string cudnn_description(const GpuProperties& gpu) {
  return "{" + limits_of_90() + field("multiProcessorCount", gpu.multiprocessors) +
         field("totalGlobalMem", gpu.memory_bytes) + field("smClockRateKHz", kilohertz(gpu.hertz)) +
         field("memClockRateKHz", kilohertz(gpu.memory_hertz / 2.0)) + field("l2CacheSize", gpu.l2_bytes) +
         field("cudaDeviceId", gpu.index) + field("deviceVer", 10 * gpu.compute_capability) + "\"deviceName\":\"" +
         gpu.name + "\"}";
}

Result<CudnnDescriptor> cudnn_device(const DeviceSpec& spec, std::span<const GpuProperties> here, Notes& notes) {
  if (Result<void> version = check_cudnn_version(cudnnGetVersion()); !version) return version.error();
  const auto found = std::find_if(here.begin(), here.end(), [&](const auto& gpu) { return gpu.name == spec.name; });
  if (found != here.end()) return device_of(*found, notes);
  if (spec.name != h200().name) {
    return Error{ErrorCode::unsupported, "cuDNN cannot plan for '" + spec.name +
                                             "' on a machine without it; only for '" + h200().name +
                                             "', of which a description is at hand"};
  }
  notes.add("'" + spec.name + "' is not here: cuDNN's engines are those for a description of our own");
  return described_by_hand(h200());
}

Result<CudnnDescriptor> cudnn_device(const DeviceSpec& spec) {
  static const std::vector<GpuProperties> gpus = read_gpus();  // the driver takes its time
  return cudnn_device(spec, gpus, backend_notes());
}

}  // namespace znni::cuda
