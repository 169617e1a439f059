// The log's lines about calls, which a client that is refused again and again cannot fill.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "server/log.hpp"
#include "server/rpc/calls/call_record.hpp"

namespace znni {

// Writes a line for every call that was served, and for up to max_refused_lines a second of those that were not, by
// method and code; one line counts the others of a second when it is over. Thread safe.
class CallLog {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  static constexpr std::int64_t max_refused_lines = 10;

  // Writes to `log`, which must outlive it.
  explicit CallLog(const Log& log, Clock clock = std::chrono::steady_clock::now);
  ~CallLog();  // counts what is left
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;

  void add(const rpc::CallRecord& call);
  // Writes the counts of seconds that are over: to be called about once a second.
  void tick();

 private:
  using Key = std::pair<std::string, std::string>;  // method, code
  struct Second {
    std::chrono::steady_clock::time_point begin;
    std::int64_t lines = 0;
    std::int64_t left_out = 0;
  };

  [[nodiscard]] bool may_write(const rpc::CallRecord& call);
  void end(const Key& key, const Second& second) const;

  const Log& log_;
  Clock clock_;
  std::mutex mutex_;
  std::map<Key, Second> seconds_;
};

}  // namespace znni
