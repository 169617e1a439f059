// The processors and the RAM of this machine, under a hard budget: the only place of the CPU back end that
// allocates.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "primitives/core/device.hpp"
#include "primitives/cpu/device/topology.hpp"

namespace znni::cpu {

// Memory is mapped, zeroed by the system, with huge pages asked for from 2 MiB on; a block costs its bytes,
// rounded up to buffer_alignment, against the budget. Its pages come from the topology's memory node, where that names
// one, whoever touches them first. reserve() may be called from several threads.
// Only MemorySpace::host exists. With spec.sockets above 1 the topology has as many; each of them has workers of its
// own beside those of the whole, which sleep while nothing is given to them.
[[nodiscard]] std::unique_ptr<Device> make_cpu_device(const DeviceSpec& spec, const Topology& topology,
                                                      std::int64_t host_budget);

}  // namespace znni::cpu
