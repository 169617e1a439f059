// Rungs that are streamed, and jobs on them that may hold little.
#pragma once

#include <string>

#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"

namespace znni::test {

// Returns what tests say of a choice that failed.
[[nodiscard]] std::string text_of(const GeometryChoice& choice);

// Returns a stream in steps of `planes`, of the smallest cross-section and `step` strides more.
[[nodiscard]] GeometryChoice stream_of(const Network& network, std::int64_t planes, std::int64_t step,
                                       std::int64_t stem_slab = 0);
// Returns the same with a window for each offset of the first pooling across the stream, a phase each.
[[nodiscard]] GeometryChoice phases_of(const Network& network, std::int64_t planes, std::int64_t step, int axis = 0);

// Returns the least that a job of a field of view of 8 may hold for its output to wait in bands of so many planes.
[[nodiscard]] std::int64_t held_for(std::int64_t planes, const EngineBench& made, const VolumeShape& volume);
// Runs a job that reads and writes float32, and holds at most so much.
[[nodiscard]] JobOutcome run_holding(const EngineBench& made, const RandomVolume& volume, std::int64_t max_held);

}  // namespace znni::test
