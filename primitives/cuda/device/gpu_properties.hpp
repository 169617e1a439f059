// The properties of a GPU, in numbers of the driver, and the DeviceSpec that the planner sees. Rates are of the
// arithmetic units and of the memory's pins: what a kernel reaches is the business of estimates
// (primitives/gpu/estimates.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "primitives/core/device.hpp"

namespace znni::cuda {

struct GpuProperties {
  std::string name;
  int index = 0;               // of the runtime
  int compute_capability = 0;  // 90 for 9.0
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  double hertz = 0;
  double memory_hertz = 0;  // of the data clock
  int memory_bus_bits = 0;
};

// Returns the GPUs of this machine that this build has code for (CMAKE_CUDA_ARCHITECTURES, and newer ones); empty
// without a driver, without a GPU, or if the driver is too old. Never fails.
[[nodiscard]] std::vector<GpuProperties> read_gpus();

// Gives the value of a small GPU to each rate that the driver does not tell. Some drivers tell 0 in virtual machines,
// which counts as not told. The planner would plan nothing for a GPU whose memory is infinitely slow.
[[nodiscard]] GpuProperties with_assumed_rates(GpuProperties gpu);

// Returns the spec of a GPU. The same properties always give the same spec.
[[nodiscard]] DeviceSpec spec_of(const GpuProperties& gpu);

// Returns an H200, for plans and tests without one. Its numbers are the vendor's; they were not read from a device.
[[nodiscard]] GpuProperties h200();

}  // namespace znni::cuda
