#include "server/jobs/memory_shares.hpp"

#include <algorithm>
#include <string>

#include "primitives/core/shape.hpp"
#include "server/jobs/model_server.hpp"

namespace znni {

Result<MemoryShares> split_memory(const ServerLimits& limits) {
  if (limits.max_request_bytes <= 0) {
    return Error{ErrorCode::invalid_argument,
                 "largest request is " + std::to_string(limits.max_request_bytes) + " bytes; it must be positive"};
  }
  MemoryShares shares;
  const std::int64_t two_messages = mul(2, limits.max_request_bytes);
  shares.transport = std::min(std::max(limits.memory / 8, two_messages), limits.memory / 2);
  shares.models = limits.memory - shares.base - shares.transport;
  shares.largest_message = std::min(limits.max_request_bytes, shares.transport / 2);
  if (shares.models > 0) return shares;
  // Where transport is an eighth, two messages, half of the memory: the largest but never more than half.
  const std::int64_t least =
      std::max(div_up(8 * shares.base, 7), add(shares.base, std::min(two_messages, shares.base)));
  return Error{ErrorCode::over_budget, "memory limit is " + bytes_text(limits.memory) + "; the process itself takes " +
                                           bytes_text(shares.base) + " and requests " + bytes_text(shares.transport) +
                                           ", so it must be above " + bytes_text(least) + ", plus what models need"};
}

std::int64_t share_of_model(std::int64_t left, std::int64_t models_left) {
  ensure(models_left > 0, "a share is asked for a model that is still to come");
  return std::max<std::int64_t>(left, 0) / models_left;
}

}  // namespace znni
