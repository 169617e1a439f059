// The machine's peak rates, measured just before other times are compared with them.
#pragma once

#include <cstdint>

#include "primitives/core/device.hpp"

namespace znni::bench {

struct MachineRates {
  double flops_per_second = 0;       // float32, all threads; a fused multiply-add counts as two
  double read_bytes_per_second = 0;  // of main memory; all threads
  double load = 0;                   // average number of running tasks in the minute before (getloadavg)
};

// Measures the rates in about a second. Meanwhile reserves a block of memory larger than the caches; fails with the
// device's error.
[[nodiscard]] Result<MachineRates> measure_machine(Device& device);

// Returns the bytes that are read: four times the last-level cache, within 256 MiB and 1 GiB.
[[nodiscard]] std::int64_t read_block_bytes(const DeviceSpec& spec);

}  // namespace znni::bench
