// What timing a layer and timing a step of training have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "primitives/core/device.hpp"
#include "primitives/core/primitive.hpp"
#include "tests/bench/energy.hpp"

namespace znni::bench {

// Times of one run: wall clock, and processor time of the process per thread.
struct RunTime {
  Seconds wall = 0;
  Seconds processor = 0;
  std::optional<double> joules = {};  // if the machine's counters can be read
};

struct LayerWork {
  Device* device = nullptr;
  int repetitions = 5;
  std::stop_token stop;
  std::function<void(const std::string&)> progress;  // one line at a time; may be empty

  void say(const std::string& line) const {
    if (progress) progress(line);
  }
};

// Returns the processor time of this process so far, over all threads.
[[nodiscard]] Seconds processor_seconds();

// Calls `run`, which returns its own seconds, and returns all times of that. Fails with `cancelled` after a stop, and
// with the errors of the run.
[[nodiscard]] Result<RunTime> time_run(const LayerWork& work, EnergyMeter energy,
                                       const std::function<Result<Seconds>()>& run);

// Reserves memory for transient buffers, and touches all of it.
[[nodiscard]] Result<Reservation> touched_block(const LayerWork& work, std::int64_t bytes);

}  // namespace znni::bench
