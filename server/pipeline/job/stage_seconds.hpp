// The stages of a job and the time that each takes.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "primitives/core/clock_time.hpp"
#include "primitives/core/primitive.hpp"

namespace znni {

// The seconds of all threads that compute together; their sum may exceed the time that passed.
struct StageSeconds {
  Seconds gather = 0;  // windows of the volume, brought to float32
  Seconds head = 0;    // layers on the CPU, those before a hand-off to a GPU
  Seconds tail = 0;    // layers behind it, copies included
  Seconds stitch = 0;  // output voxels to their places and in their type
  // The seconds of the head by layers, if the CPU has all of them: [0] the reorder of the input, [i + 1] node i of the
  // network.
  std::vector<Seconds> layers;

  void add_layer(int node, Seconds seconds) {
    const auto index = static_cast<std::size_t>(node + 1);
    if (index >= layers.size()) layers.resize(index + 1);
    layers[index] += seconds;
  }
  StageSeconds& operator+=(const StageSeconds& other) {
    gather += other.gather;
    head += other.head;
    tail += other.tail;
    stitch += other.stitch;
    for (std::size_t i = 0; i < other.layers.size(); ++i) add_layer(static_cast<int>(i) - 1, other.layers[i]);
    return *this;
  }
};

// Adds to one of them the time for which it lives.
class StageTimer {
 public:
  explicit StageTimer(Seconds& stage) : stage_(stage) {}
  ~StageTimer() { stage_ += seconds_since(start_); }
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  Seconds& stage_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace znni
