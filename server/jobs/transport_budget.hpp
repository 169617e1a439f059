// Memory of requests on their way: a number that may not be exceeded. Nothing waits for it: a request that
// does not fit is refused, with numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "server/jobs/model_server.hpp"

namespace znni {

// Shared by the server and every lease, so that a lease may outlive the server.
struct TransportBudget {
  explicit TransportBudget(std::int64_t bytes) : limit(bytes) {}

  const std::int64_t limit;
  std::mutex mutex;  // guards used, peak
  std::int64_t used = 0;
  std::int64_t peak = 0;  // of used, since the start
};

// Takes `bytes` out of `budget`. Fails with over_budget if it has less, with invalid_argument if they are negative.
[[nodiscard]] Result<TransportLease> take_lease(const std::shared_ptr<TransportBudget>& budget, std::int64_t bytes);

// Returns the bytes that a job may hold if it comes now: half of what is free. So two that come at the same moment find
// room. As much is left for those that come while a long one holds its half.
[[nodiscard]] std::int64_t usual_share(TransportBudget& budget);
// Returns the same for a job that comes while no other is there.
[[nodiscard]] std::int64_t idle_share(const TransportBudget& budget);

}  // namespace znni
