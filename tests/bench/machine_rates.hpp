// What the machine can do at most, measured just before something is compared with it.
#pragma once

#include <cstdint>

#include "primitives/core/device.hpp"

namespace znni::bench {

struct MachineRates {
  double flops_per_second = 0;       // float32, a fused multiply-add counting two; all threads
  double read_bytes_per_second = 0;  // of main memory; all threads
  double load = 0;                   // average number of running tasks in the minute before (getloadavg)
};

// Takes about a second. Reserves a block of memory larger than the caches for the time; the error is the device's.
[[nodiscard]] Result<MachineRates> measure_machine(Device& device);

// Bytes that are read: four times the last-level cache, within 256 MiB and 1 GiB.
[[nodiscard]] std::int64_t read_block_bytes(const DeviceSpec& spec);

}  // namespace znni::bench
