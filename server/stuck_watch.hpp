// Tells log and supervisor whether the daemon still gets on with its work.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "server/log.hpp"
#include "server/supervisor.hpp"

namespace znni {

// Why the job that computes stands still; nothing while it does not.
using StuckReason = std::function<std::optional<std::string>()>;

// Asks once in each `period`, until `stop`: a line in the log when the daemon gets stuck, and another when it goes on;
// the supervisor hears WATCHDOG=1 as long as it is not stuck, and may start it again when it hears that no longer.
void watch_for_stuck(const StuckReason& stuck_reason, const Supervisor& supervisor, const Log& log,
                     std::chrono::milliseconds period, const std::stop_token& stop);

}  // namespace znni
