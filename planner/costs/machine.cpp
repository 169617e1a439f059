#include "planner/costs/machine.hpp"

#include <algorithm>
#include <cmath>

namespace znni {
namespace {

Error wrong(const std::string& what) { return {ErrorCode::corrupt_file, "machine: " + what}; }

bool has_memory(const Machine& machine, MemorySpace space) {
  return std::any_of(machine.devices.begin(), machine.devices.end(),
                     [&](const MachineDevice& device) { return device.bytes[static_cast<std::size_t>(space)] > 0; });
}

bool is_rate(double value) { return std::isfinite(value) && value > 0; }

Result<void> check_spec(const DeviceSpec& spec) {
  if (spec.name.empty()) return wrong("a device has no name");
  const std::string whose = "device '" + spec.name + "': ";
  if (spec.threads < 1 || spec.threads > 65536) {
    return wrong(whose + "threads is " + std::to_string(spec.threads) + "; 1 to 65536 is right");
  }
  if (spec.simd_floats != 4 && spec.simd_floats != 8 && spec.simd_floats != 16) {
    return wrong(whose + "simd_floats is " + std::to_string(spec.simd_floats) + "; 4, 8 or 16 is right");
  }
  for (const auto& [field, value] :
       {std::pair{"flops_per_second", spec.flops_per_second}, std::pair{"bytes_per_second", spec.bytes_per_second},
        std::pair{"hertz", spec.hertz}, std::pair{"l2_bytes", static_cast<double>(spec.l2_bytes)},
        std::pair{"l3_bytes", static_cast<double>(spec.l3_bytes)}}) {
    if (!is_rate(value)) return wrong(whose + field + " is " + std::to_string(value) + "; more than 0 is right");
  }
  for (const auto& [field, value] : {std::pair{"tf32_flops_per_second", spec.accelerator.tf32_flops_per_second},
                                     std::pair{"bf16_flops_per_second", spec.accelerator.bf16_flops_per_second}}) {
    if (value != 0 && !is_rate(value))
      return wrong(whose + field + " is " + std::to_string(value) + "; 0 or more is right");
  }
  return {};
}

Result<void> check_link(const Machine& machine, const Link& link) {
  const std::string whose = "link from " + std::string(to_string(link.from)) + " to " + std::string(to_string(link.to));
  for (const MemorySpace space : {link.from, link.to}) {
    if (!has_memory(machine, space))
      return wrong(whose + ": no device has " + std::string(to_string(space)) + " memory");
  }
  if (!is_rate(link.bytes_per_second)) {
    return wrong(whose + ": bytes_per_second is " + std::to_string(link.bytes_per_second) + "; more than 0 is right");
  }
  if (std::isfinite(link.latency) && link.latency >= 0) return {};
  return wrong(whose + ": seconds is " + std::to_string(link.latency) + "; 0 or more is right");
}

const MachineDevice* find_named(const Machine& machine, const std::string& name) {
  const auto found = std::find_if(machine.devices.begin(), machine.devices.end(),
                                  [&](const MachineDevice& device) { return device.spec.name == name; });
  return found == machine.devices.end() ? nullptr : &*found;
}

}  // namespace

Result<void> check(const Machine& machine) {
  if (machine.devices.empty()) return wrong("it has no device");
  for (const MachineDevice& device : machine.devices) {
    if (Result<void> sound = check_spec(device.spec); !sound) return sound;
    for (const std::int64_t bytes : device.bytes) {
      if (bytes < 0) return wrong("device '" + device.spec.name + "': memory of " + std::to_string(bytes) + " bytes");
    }
    const auto of_kind = std::count_if(machine.devices.begin(), machine.devices.end(),
                                       [&](const MachineDevice& other) { return other.spec.kind == device.spec.kind; });
    if (of_kind > 1) return wrong("device '" + device.spec.name + "' is not the only one of its kind; one is right");
  }
  for (const Link& link : machine.links) {
    if (Result<void> sound = check_link(machine, link); !sound) return sound;
  }
  return {};
}

const MachineDevice* find_device(const Machine& machine, DeviceKind kind) {
  const auto found = std::find_if(machine.devices.begin(), machine.devices.end(),
                                  [&](const MachineDevice& device) { return device.spec.kind == kind; });
  return found == machine.devices.end() ? nullptr : &*found;
}

Result<Timings> complete(const Timings& timings, const Machine& machine) {
  Timings whole;
  std::size_t number = 0;
  for (TimingRecord record : timings.records()) {
    const std::string which = "record " + std::to_string(number++) + " (" + record.primitive + ")";
    if (record.device.empty() && machine.devices.size() == 1) record.device = machine.devices.front().spec.name;
    const MachineDevice* device = find_named(machine, record.device);
    if (device == nullptr) {
      return Error{ErrorCode::corrupt_file,
                   which + ": device is '" + record.device + "'; the name of one of the machine's devices is right"};
    }
    if (record.threads == 0) record.threads = device->spec.threads;
    if (record.threads != device->spec.threads) {
      return Error{ErrorCode::corrupt_file, which + ": threads is " + std::to_string(record.threads) +
                                                "; its device has " + std::to_string(device->spec.threads)};
    }
    whole.insert(std::move(record));
  }
  return whole;
}

}  // namespace znni
