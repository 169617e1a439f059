// Writes lines to a descriptor that another process reads, and never waits for that reader without an end in sight.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string_view>

namespace znni {

// Waits for room in a pipe, terminal or socket rather than in write(). A reader that has stopped holds up no more than
// the writing thread, and hurry() frees that one, too. Other processes that share the descriptor are left as they are:
// its own flags do not change.
class LineWriter {
 public:
  // Writes to `descriptor`, which stays the caller's. All writes together wait no longer than `patience` after hurry().
  LineWriter(int descriptor, std::chrono::milliseconds patience);
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  // Writes the line and a newline. Returns false where not all of it was written: an error, or no room in time. One
  // thread at a time.
  bool write(std::string_view line);
  // Begins the end, on any thread.
  void hurry();

 private:
  [[nodiscard]] bool wait_for_room();
  [[nodiscard]] int milliseconds_left() const;
  [[nodiscard]] long write_some(std::string_view text) const;

  using Clock = std::chrono::steady_clock;
  int descriptor_;
  bool is_socket_ = false;
  int own_ = -1;   // the same pipe or terminal, opened again so that it can be non-blocking; -1: cannot be
  int wake_ = -1;  // readable after hurry()
  std::chrono::milliseconds patience_;
  mutable std::mutex mutex_;
  std::optional<Clock::time_point> end_;  // set by hurry()
};

}  // namespace znni
