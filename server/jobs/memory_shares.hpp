// How --mem, the bytes of the whole process, is divided: stated here, once.
//
//   base       code, libraries, thread stacks, protobuf and gRPC bookkeeping, the search while a model loads
//   transport  bytes of requests and answers that are being received, computed and sent
//   models     weights, persistent and transient memory of all plans
#pragma once

#include <cstdint>

#include "primitives/core/result.hpp"

namespace znni {

struct ServerLimits;  // server/jobs/model_server.hpp

inline constexpr std::int64_t base_bytes = std::int64_t{64} << 20;

struct MemoryShares {
  std::int64_t base = base_bytes;
  std::int64_t transport = 0;
  std::int64_t models = 0;
  // The largest message that may be received: --max-request-bytes, or half the transport share where that is
  // less (a message and its answer stand side by side).
  std::int64_t largest_message = 0;
};

// transport is an eighth of the memory, but two messages of max_request_bytes, but at most half the memory.
// over_budget, naming both numbers, when nothing is left for models.
[[nodiscard]] Result<MemoryShares> split_memory(const ServerLimits& limits);

// What the next model may take when `left` bytes are left for `models_left` models.
[[nodiscard]] std::int64_t share_of_model(std::int64_t left, std::int64_t models_left);

}  // namespace znni
