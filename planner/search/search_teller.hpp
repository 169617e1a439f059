// Tells how far a search is within one set of candidates, at which several threads look.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "planner/search/search.hpp"

namespace znni {

class SearchTeller {
 public:
  // Tells on the thread that makes it, and on no other. `tell` may be empty, and must outlive it; `begin` is what is
  // known before the first candidate.
  SearchTeller(const std::function<void(const SearchProgress&)>& tell, const SearchProgress& begin)
      : tell_(tell), progress_(begin) {
    tell_now();
  }

  // Counts one more candidate. May be called by any thread.
  void looked() {
    ++looked_at_;
    if (std::this_thread::get_id() == owner_) tell_now();
  }
  // Tells of the best plan so far, on the thread that made it.
  void found(double voxels_per_second) {
    progress_.voxels_per_second = voxels_per_second;
    tell_now();
  }

 private:
  void tell_now() {
    progress_.looked_at = looked_at_;
    if (tell_) tell_(progress_);
  }

  const std::function<void(const SearchProgress&)>& tell_;
  const std::thread::id owner_ = std::this_thread::get_id();
  SearchProgress progress_;
  std::atomic<std::int64_t> looked_at_ = 0;
};

}  // namespace znni
