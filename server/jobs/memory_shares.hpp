// Divides --mem, the bytes of the whole process: stated here, once.
//
//   base       code, libraries, thread stacks, protobuf and gRPC bookkeeping, the search while a model loads
//   receiving  ModelInfer messages while they are received: gRPC has them before their size can be leased
//   transport  bytes of requests and answers that were received, are computed and sent: leased, each
//   models     weights, persistent and transient memory of all plans
#pragma once

#include <cstdint>

#include "primitives/core/result.hpp"

namespace znni {

struct ServerLimits;  // server/jobs/model_server.hpp

inline constexpr std::int64_t base_bytes = std::int64_t{64} << 20;
// A message that is received stands in gRPC's buffers and in protobuf's string, which above 50 MB grows by doubling.
// While it moves, both its old and its new place are written.
inline constexpr std::int64_t copies_while_received = 3;
// Request and answer, or the larger of them as gRPC's and as protobuf's copy.
inline constexpr std::int64_t copies_while_computed = 2;

struct MemoryShares {
  std::int64_t base = base_bytes;
  std::int64_t receiving = 0;
  std::int64_t transport = 0;
  std::int64_t models = 0;
  // The largest ModelInfer message, each way: as asked for, else 128 MiB or a 64th of the memory, what is less.
  std::int64_t largest_message = 0;
  int receives = 1;  // messages that may be received at the same time
};

// Divides the daemon's memory. transport is an eighth of the memory, or copies_while_computed messages if they are
// more; receiving as many messages as stand in a quarter of that, or up to four as stand in three 32nds of the memory;
// at least one and at most 16. A caller who sends slowly has one of them to itself. Fails with over_budget if receiving
// and transport would take more than three quarters of the memory, or nothing is left for models. The error names the
// numbers and both ways out.
[[nodiscard]] Result<MemoryShares> split_memory(const ServerLimits& limits);

}  // namespace znni
