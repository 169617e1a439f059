#include "planner/layers/places.hpp"

#include <algorithm>
#include <string>

namespace znni {
namespace {

Error lacking(const std::string& what) { return {ErrorCode::invalid_argument, "the machine has no " + what}; }

const Link* find_link(const Machine& machine, MemorySpace from, MemorySpace to) {
  const auto found = std::find_if(machine.links.begin(), machine.links.end(),
                                  [&](const Link& link) { return link.from == from && link.to == to; });
  return found == machine.links.end() ? nullptr : &*found;
}

// Returns the link between the host's memory, pinned or not, and the device's.
const Link* device_link(const Machine& machine, bool up) {
  for (const MemorySpace host : {MemorySpace::pinned, MemorySpace::host}) {
    const Link* const link =
        up ? find_link(machine, host, MemorySpace::device) : find_link(machine, MemorySpace::device, host);
    if (link != nullptr) return link;
  }
  return nullptr;
}

std::int64_t bytes_in(const Machine& machine, MemorySpace space) {
  std::int64_t sum = 0;
  for (const MachineDevice& device : machine.devices) sum = add(sum, device.bytes[static_cast<std::size_t>(space)]);
  return sum;
}

}  // namespace

Result<MachinePlaces> places_of(const Machine& machine) {
  const MachineDevice* const cpu = find_device(machine, DeviceKind::cpu);
  const MachineDevice* const gpu = find_device(machine, DeviceKind::gpu);
  if (cpu == nullptr || gpu == nullptr) return lacking(cpu == nullptr ? "CPU" : "GPU");
  const Link* const up =
      device_link(machine, true) != nullptr ? device_link(machine, true) : device_link(machine, false);
  if (up == nullptr) return lacking("link between host and device memory");
  const Link* const down = device_link(machine, false) != nullptr ? device_link(machine, false) : up;
  MachinePlaces places{{cpu->spec, gpu->spec},
                       {bytes_in(machine, MemorySpace::host), bytes_in(machine, MemorySpace::pinned),
                        bytes_in(machine, MemorySpace::device)}};
  if (places.memory.device == 0) return lacking("device memory");
  AcceleratorSpec& link = places.specs.gpu.accelerator;
  link.memory_bytes = places.memory.device;
  link.up = {up->latency, up->bytes_per_second};
  link.down = {down->latency, down->bytes_per_second};
  link.duplex_bytes_per_second = up->bytes_per_second + down->bytes_per_second;
  const Link* const staging = find_link(machine, MemorySpace::host, MemorySpace::pinned);
  if (staging != nullptr) link.staging_bytes_per_second = staging->bytes_per_second;
  return places;
}

}  // namespace znni
