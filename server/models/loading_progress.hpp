// Tells in words how far the loading of a model is, for clients that ask meanwhile.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "planner/search/search.hpp"

namespace znni {

// Thread safe.
class LoadingProgress {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  explicit LoadingProgress(Clock clock = std::chrono::steady_clock::now) : clock_(std::move(clock)) {}

  // Begins a phase, in words: "planning within 4.00 GiB".
  void begin(std::string phase);
  // Tells how far the search of this phase is.
  void tell(const SearchProgress& search);

  // Returns "planning within 4.00 GiB for 12 s: 340 of 1200 patches looked at, 4.2e+05 voxels/s so far"; before
  // anything began, it says that the model waits.
  [[nodiscard]] std::string text() const;

 private:
  Clock clock_;
  mutable std::mutex mutex_;  // guards all below
  std::string phase_;
  std::chrono::steady_clock::time_point since_;
  std::optional<SearchProgress> search_;
};

}  // namespace znni
