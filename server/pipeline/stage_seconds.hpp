// Where the time of a job goes.
#pragma once

#include <chrono>

#include "primitives/core/primitive.hpp"

namespace znni {

// Of all that compute together, so that the sum may be more than the time that passed.
struct StageSeconds {
  Seconds gather = 0;  // windows of the volume, brought to float32
  Seconds head = 0;    // layers on the CPU, those before a hand-off to a GPU
  Seconds tail = 0;    // layers behind it, copies included
  Seconds stitch = 0;  // output voxels to their places and in their type

  StageSeconds& operator+=(const StageSeconds& other) {
    gather += other.gather;
    head += other.head;
    tail += other.tail;
    stitch += other.stitch;
    return *this;
  }
};

// Adds to one of them the time for which it lives.
class StageTimer {
 public:
  explicit StageTimer(Seconds& stage) : stage_(stage) {}
  ~StageTimer() { stage_ += std::chrono::duration<Seconds>(std::chrono::steady_clock::now() - start_).count(); }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  Seconds& stage_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace znni
