// Primitives on one convolution, one right after the other in one process: what a machine shared with others does to
// one of them it does to all.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "primitives/core/primitive.hpp"

namespace znni::bench {

// One run: by the clock on the wall, and what the process took of its processors, per thread.
struct RunTime {
  Seconds wall = 0;
  Seconds processor = 0;
  std::optional<double> joules = {};  // where the machine's counters can be read
};

struct PrimitiveTimes {
  std::string primitive;
  std::string refusal;  // why it was not run: what follows says nothing then
  Variant variant;      // the fastest of `tried`
  Format in;
  Format out;
  int tried = 0;
  std::vector<RunTime> runs;
  std::int64_t persistent_bytes = 0;
  std::int64_t transient_bytes = 0;  // input and output among them
  double error = 0;                  // relative_error() of the places of sample_places()

  [[nodiscard]] bool ran() const { return refusal.empty(); }
  [[nodiscard]] Seconds median_wall() const;
  [[nodiscard]] Seconds median_processor() const;
  [[nodiscard]] std::optional<double> median_joules() const;
};

struct LayerWork {
  Device* device = nullptr;
  int repetitions = 5;
  std::stop_token stop;
  std::function<void(const std::string&)> progress;  // one line at a time; may be empty
};

// Every primitive once, in the order given. Each way that one offers in blocked formats (in any, where it offers none)
// runs twice, the second run counting; a first run over three times the best so far gives the way up. Then the best
// of each primitive run in turn, `repetitions` times. Buffers are those the primitives declare, in memory that was
// touched before. A primitive that refuses the problem, or whose ways all need more than the device's budget, has a
// refusal. The error: nothing ran; a wrong result (error above 1e-3); `cancelled` when a stop came; the device's.
[[nodiscard]] Result<std::vector<PrimitiveTimes>> run_layer(const ConvProblem& problem,
                                                            std::span<const Primitive* const> primitives,
                                                            const LayerWork& work);

// Speed of `one` over that of the last of `all`, by their medians; 0 where one of them did not run.
[[nodiscard]] double speed_over_last(const PrimitiveTimes& one, std::span<const PrimitiveTimes> all);

}  // namespace znni::bench
