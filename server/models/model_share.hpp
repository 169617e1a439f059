// What a model may take of the memory of all models: the parameters memory and memory_share of its config.pbtxt.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "server/models/model_repository.hpp"

namespace znni {

struct MemoryWish {
  std::optional<std::int64_t> bytes = {};  // taken off before the others share
  std::int64_t weight = 1;                 // among those that share the rest
};

// Returns what the configuration of a model says. One that is missing or cannot be read wishes nothing special: loading
// the model tells what is wrong with it.
[[nodiscard]] MemoryWish read_memory_wish(const ModelEntry& entry);

// Returns what a model may take of `left` bytes, of which `others` will be loaded, too. Fails with over_budget, with
// both numbers, if it wishes more than is left, or if the others leave nothing.
[[nodiscard]] Result<std::int64_t> share_of_model(std::int64_t left, const MemoryWish& own,
                                                  std::span<const MemoryWish> others);

}  // namespace znni
