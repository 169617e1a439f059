#include "server/jobs/memory_shares.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "primitives/core/shape.hpp"
#include "server/jobs/model_server.hpp"

namespace znni {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;
constexpr std::int64_t usual_message = 128 * mib;
constexpr std::int64_t max_receives = 16;
constexpr std::int64_t wanted_receives = 4;  // one who sends slowly has one to itself

MemoryShares divide(std::int64_t memory, std::optional<std::int64_t> message) {
  MemoryShares shares;
  shares.largest_message = message.value_or(std::clamp<std::int64_t>(memory / 64, 1, usual_message));
  const std::int64_t received = mul(copies_while_received, shares.largest_message);
  shares.transport = std::max(memory / 8, mul(copies_while_computed, shares.largest_message));
  const std::int64_t wanted = std::min(memory / 32 * 3 / received, wanted_receives);
  const std::int64_t receives = std::max(shares.transport / mul(4, received), wanted);
  shares.receives = static_cast<int>(std::clamp<std::int64_t>(receives, 1, max_receives));
  shares.receiving = mul(shares.receives, received);
  shares.models = memory - add(shares.base, add(shares.receiving, shares.transport));
  return shares;
}

bool fits(const MemoryShares& shares, std::int64_t memory) {
  return shares.models > 0 && add(shares.receiving, shares.transport) <= memory / 4 * 3;
}

std::int64_t min_memory(std::optional<std::int64_t> message) {
  std::int64_t memory = base_bytes;
  while (!fits(divide(memory, message), memory)) memory += mib;
  return memory;
}

// Returns the largest whole number of MiB that fits; 0 if none does.
std::int64_t max_message(std::int64_t memory) {
  std::int64_t message = memory / mib * mib;
  while (message > 0 && !fits(divide(memory, message), memory)) message -= mib;
  return message;
}

Error no_room(const ServerLimits& limits, const MemoryShares& shares) {
  std::string text = "memory limit is " + bytes_text(limits.memory) + "; the process itself takes " +
                     bytes_text(shares.base) + " and requests of up to " + bytes_text(shares.largest_message) +
                     " take " + bytes_text(add(shares.receiving, shares.transport)) + ": give at least " +
                     bytes_text(min_memory(limits.max_request_bytes)) + ", plus what models need";
  const std::int64_t most = limits.max_request_bytes ? max_message(limits.memory) : 0;
  if (most > 0) text += ", or --max-request-bytes of at most " + bytes_text(most);
  return {ErrorCode::over_budget, text};
}

}  // namespace

Result<MemoryShares> split_memory(const ServerLimits& limits) {
  // Far above any machine, and far from overflow.
  constexpr std::int64_t most = std::int64_t{1} << 40;
  const std::int64_t message = limits.max_request_bytes.value_or(1);
  if (message <= 0 || message > most) {
    return Error{ErrorCode::invalid_argument, "largest request is " + std::to_string(message) +
                                                  " bytes; it must be positive and at most " + bytes_text(most)};
  }
  const MemoryShares shares = divide(limits.memory, limits.max_request_bytes);
  if (!fits(shares, limits.memory)) return no_room(limits, shares);
  return shares;
}

}  // namespace znni
