// The limit of memory of a program: --mem, else ZNNI_MEM, which containers set, else what the machine has to give.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "primitives/core/result.hpp"

namespace znni {

// The memory that the machine, or the process's control group, leaves a program; bytes.
struct MachineMemory {
  std::int64_t preset = 0;  // to use if the user sets no limit
  std::int64_t most = 0;    // beyond it the system ends the process; 0: unknown
};

struct MemoryLimit {
  std::int64_t bytes = 0;
  std::string warning;  // "" unless less was taken than was asked for: with both numbers
};

// Chooses the limit of memory from --mem (`asked`), the environment and the machine. `environment`: the text of
// ZNNI_MEM; null or empty counts as not set. Never gives more than machine.most, which is the preset. Fails with
// invalid_argument, naming ZNNI_MEM, if the text is not a size.
[[nodiscard]] Result<MemoryLimit> choose_memory_limit(std::optional<std::int64_t> asked, const char* environment,
                                                      const MachineMemory& machine);

}  // namespace znni
