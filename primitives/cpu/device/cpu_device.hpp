// The processors and the RAM of this machine, under a hard budget. The CPU back end allocates memory only here.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "primitives/core/device.hpp"
#include "primitives/cpu/device/topology.hpp"

namespace znni::cpu {

// Makes a CPU device with only MemorySpace::host. Memory is mapped and zeroed by the system, with huge pages requested
// from 2 MiB on. A block counts with its bytes, rounded up to buffer_alignment, against the budget. If the topology
// names a memory node, pages come from that node, whichever thread touches them first. Several threads may call
// reserve(). If spec.sockets is above 1, the topology must have as many sockets. Each socket then has its own workers
// beside those of the whole device; idle workers sleep.
[[nodiscard]] std::unique_ptr<Device> make_cpu_device(const DeviceSpec& spec, const Topology& topology,
                                                      std::int64_t host_budget);

}  // namespace znni::cpu
