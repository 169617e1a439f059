// Bounds a GPU's own memory for plans where --gpu-mem is not given.
#pragma once

#include <algorithm>
#include <optional>

#include "primitives/core/primitive.hpp"

namespace znni {

// Returns nine tenths of `total` bytes, or what is free less what libraries take, if that is less; 0 if they take all.
// `memory`: nothing if it is not known.
[[nodiscard]] constexpr std::int64_t default_gpu_budget(std::int64_t total, const std::optional<GpuMemory>& memory) {
  const std::int64_t most = total / 10 * 9;
  if (!memory) return most;
  return std::clamp<std::int64_t>(memory->free - memory->libraries, 0, most);
}

}  // namespace znni
