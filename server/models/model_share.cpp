#include "server/models/model_share.hpp"

#include <algorithm>

#include "primitives/core/shape.hpp"
#include "proto/convert/text/model_config.hpp"

namespace znni {

MemoryWish read_memory_wish(const ModelEntry& entry) {
  const Result<ModelSettings> settings = read_model_config(entry.config_file.string());
  return settings ? MemoryWish{settings->memory, settings->memory_share} : MemoryWish{};
}

Result<std::int64_t> share_of_model(std::int64_t left, const MemoryWish& own, std::span<const MemoryWish> others) {
  const std::int64_t free = std::max<std::int64_t>(left, 0);
  if (own.bytes && *own.bytes > free) {
    return Error{ErrorCode::over_budget, "its parameter memory is " + bytes_text(*own.bytes) + ", and " +
                                             bytes_text(free) + " are left for models: lower it, or raise --mem"};
  }
  if (own.bytes) return *own.bytes;
  std::int64_t taken = 0;
  std::int64_t weights = own.weight;
  for (const MemoryWish& other : others) {
    taken = add(taken, other.bytes.value_or(0));
    weights += other.bytes ? 0 : other.weight;
  }
  if (taken > 0 && taken >= free) {
    return Error{ErrorCode::over_budget, "the parameters memory of models to come are " + bytes_text(taken) +
                                             " in all, and " + bytes_text(free) +
                                             " are left for models: lower them, or raise --mem"};
  }
  return mul(free - taken, own.weight) / weights;
}

}  // namespace znni
