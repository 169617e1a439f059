// Lets all threads of a search ask one stop function, which need not be made for that.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>

namespace znni {

class StopQuestion {
 public:
  // Asks `stop`; an empty function never stops.
  explicit StopQuestion(std::function<bool()> stop) : stop_(std::move(stop)) {}

  // Returns true from the first "true" of the function on. Calls the function on one thread at a time; does not wait
  // for a call that another thread is making, but answers with what is known. Thread safe.
  [[nodiscard]] bool operator()() const;

 private:
  std::function<bool()> stop_;
  mutable std::mutex asking_;
  mutable std::atomic<bool> stopped_ = false;
};

}  // namespace znni
