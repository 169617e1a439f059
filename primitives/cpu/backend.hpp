// The CPU back end: its primitives and the devices they run on.
#pragma once

#include <span>

#include "primitives/core/primitive.hpp"

namespace znni::cpu {

// The table of the folder, in the order of PRIMITIVES in CMakeLists.txt.
[[nodiscard]] std::span<const Primitive* const> registry();

// probe() gives one device, with default_threads() threads (primitives/cpu/device/machine.hpp). open() takes any
// spec of describe_cpu(), or one of its sockets, and has host memory only: its pinned and device budgets count as zero.
[[nodiscard]] const Backend& backend();

// This machine with `threads` workers. The same machine gives the same spec: rates come from what the
// processor says of itself, never from a timing.
[[nodiscard]] DeviceSpec describe_cpu(int threads);

}  // namespace znni::cpu
