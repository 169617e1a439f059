// The CPU back end: its primitives and the devices on which they run.
#pragma once

#include <span>

#include "primitives/core/primitive.hpp"

namespace znni::cpu {

// Returns the folder's primitives, in the order of PRIMITIVES in CMakeLists.txt.
[[nodiscard]] std::span<const Primitive* const> registry();

// Returns the CPU back end. probe() returns one device with default_threads() threads
// (primitives/cpu/device/machine.hpp). open() accepts any spec from describe_cpu(), or one of its sockets. It has host
// memory only: its pinned and device budgets count as zero.
[[nodiscard]] const Backend& backend();

// Describes this machine with `threads` workers. The same machine always gives the same spec, because rates come from
// the processor's description of itself, never from a timing.
[[nodiscard]] DeviceSpec describe_cpu(int threads);

}  // namespace znni::cpu
