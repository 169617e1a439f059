// A machine that may be another one: what a timings file says of where its records were taken (docs/timings.md).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "planner/costs/timings.hpp"
#include "primitives/core/device.hpp"

namespace znni {

struct MachineDevice {
  DeviceSpec spec;
  std::array<std::int64_t, 3> bytes = {};  // there are of each MemorySpace; 0: none
};

// The rate at which bytes go from one memory to another.
struct Link {
  MemorySpace from = MemorySpace::host;
  MemorySpace to = MemorySpace::device;
  double bytes_per_second = 0;
  Seconds latency = 0;
};

struct Machine {
  std::string name;
  std::vector<MachineDevice> devices;
  std::vector<Link> links;
};

// Names, rates and sizes that make sense; at most one device of a kind; a link between memories that some device has.
// The error names the device or link and the field.
[[nodiscard]] Result<void> check(const Machine& machine);

// Returns the device of that kind; nullptr if there is none.
[[nodiscard]] const MachineDevice* find_device(const Machine& machine, DeviceKind kind);

// Returns the records, completed by what a file may leave out: a record that names no device is of the machine's only
// one; threads are those of its device. The error names the record.
[[nodiscard]] Result<Timings> complete(const Timings& timings, const Machine& machine);

}  // namespace znni
