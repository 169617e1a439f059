// Memory that others took between a job's estimate and its lease is not a reason to refuse it if less would do. The
// next estimate counts what is free then.
#pragma once

#include "primitives/core/result.hpp"

namespace znni::rpc {

// Tries `look`, which asks for an estimate and leases what that says, a few times while it is over_budget: its result.
// `look` itself gives back what it leased before it failed.
template <class Look>
[[nodiscard]] Result<void> find_room(const Look& look) {
  constexpr int max_looks = 4;
  Result<void> found = look();
  for (int more = 1; more < max_looks && !found && found.error().code == ErrorCode::over_budget; ++more) {
    found = look();
  }
  return found;
}

}  // namespace znni::rpc
