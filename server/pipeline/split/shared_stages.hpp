// The time of a job on which two threads work: each counts its own, and hands it in between two items.
#pragma once

#include <mutex>

#include "server/pipeline/job/stage_seconds.hpp"

namespace znni {

// Thread safe.
class SharedStages {
 public:
  // Adds `own`, which begins at zero again.
  void hand_in(StageSeconds& own) {
    const std::lock_guard lock(mutex_);
    sum_ += own;
    own = {};
  }
  [[nodiscard]] StageSeconds sum() const {
    const std::lock_guard lock(mutex_);
    return sum_;
  }

 private:
  mutable std::mutex mutex_;  // guards sum_
  StageSeconds sum_;
};

}  // namespace znni
