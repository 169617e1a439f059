// How a chunk of a stack's levels is divided among workers, and how long it takes.
#pragma once

#include <vector>

#include "primitives/core/device.hpp"
#include "primitives/core/tensor.hpp"
#include "primitives/cpu/pool/stack_flow.hpp"

namespace znni::cpu {

// A chunk with the flows of all parts. Each part of each block of channels is a task.
struct StackChunk {
  std::vector<PartFlow> parts;
  std::int64_t blocks = 1;  // S times the blocks of channels
};

// Returns the division of a chunk for tensors of S inputs of f channels.
[[nodiscard]] StackChunk divided(std::span<const StackLevel> levels, const Shape5& in, Format format,
                                 const DeviceSpec& spec);

// Returns the floats that each worker needs.
[[nodiscard]] std::int64_t floats_of(const StackChunk& chunk);

// Returns the cycles that the slowest worker computes.
[[nodiscard]] double cycles_of(const StackChunk& chunk, const DeviceSpec& spec);

}  // namespace znni::cpu
