// Runs primitives on one convolution, one after the other in one process, so that other load on the machine affects all
// of them alike.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/bench/layers/layer_work.hpp"

namespace znni::bench {

struct PrimitiveTimes {
  std::string primitive;
  std::string refusal;  // why it was not run; the other fields then have no meaning
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

// Runs every primitive, in the order given. Each of its ways in blocked formats (in all formats, if it offers no
// blocked one) runs twice; the second run counts. A way is given up if its first run takes over three times the best so
// far. Then the best way of each primitive runs in turn, `repetitions` times. Buffers are those that the primitives
// declare, in memory that was touched before. A primitive has a refusal if it refuses the problem, or if all of its
// ways need more than the device's budget. Fails if no primitive ran, for a wrong result (error above 1e-3), with
// `cancelled` after a stop, and with the device's errors.
[[nodiscard]] Result<std::vector<PrimitiveTimes>> run_layer(const ConvProblem& problem,
                                                            std::span<const Primitive* const> primitives,
                                                            const LayerWork& work);

// Returns the speed of `one` over that of the last of `all`, by their medians; 0 if one of them did not run.
[[nodiscard]] double speed_over_last(const PrimitiveTimes& one, std::span<const PrimitiveTimes> all);

}  // namespace znni::bench
