#include "server/stuck_watch.hpp"

#include <condition_variable>
#include <mutex>

namespace znni {

void watch_for_stuck(const StuckReason& stuck_reason, const Supervisor& supervisor, const Log& log,
                     std::chrono::milliseconds period, const std::stop_token& stop) {
  bool stuck = false;
  std::mutex mutex;  // guards nothing but the wait
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    never.wait_for(lock, stop, period, [] { return false; });
    const std::optional<std::string> reason = stuck_reason();
    if (reason && !stuck) log.error("stuck: " + *reason + "; the process should be started again");
    if (!reason && stuck) log.info("no longer stuck");
    stuck = reason.has_value();
    // The next message makes up for a lost one.
    if (!stuck) static_cast<void>(supervisor.tell("WATCHDOG=1"));
  }
}

}  // namespace znni
