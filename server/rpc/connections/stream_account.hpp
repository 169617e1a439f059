// Counts calls that clients begin and do not see through: they reset them, break them or leave them open. A few are
// usual. Many at once take memory faster than the daemon can give it back.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace znni::rpc {

// Thread safe.
class StreamAccount {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr double most = 1000;              // unserved calls of one client
  static constexpr double forgiven_a_second = 200;  // of those

  // Notes that `client` has begun `calls` more that were not served. Returns true if it has too many at `now`.
  bool add(const std::string& client, std::int64_t calls, Clock::time_point now);
  // Returns true if `client` may not connect at `now`: from having too many until half of those are forgiven.
  [[nodiscard]] bool is_shut_out(const std::string& client, Clock::time_point now);
  // Forgets the clients of whom nothing is left to forgive at `now`.
  void sweep(Clock::time_point now);
  // Returns how many clients it knows.
  [[nodiscard]] std::size_t size() const;

 private:
  struct Balance {
    double calls = 0;
    Clock::time_point when;
    bool shut_out = false;
  };
  static void forgive(Balance& balance, Clock::time_point now);

  mutable std::mutex mutex_;  // guards clients_
  std::map<std::string, Balance> clients_;
};

}  // namespace znni::rpc
