// Rungs that are streamed, and jobs on them that may hold little.
#pragma once

#include <string>

#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"

namespace znni::test {

// What tests say of a choice that failed.
[[nodiscard]] std::string text_of(const GeometryChoice& choice);

// Steps of `planes`, the smallest cross-section and `step` strides more.
[[nodiscard]] GeometryChoice stream_of(const Network& network, std::int64_t planes, std::int64_t step,
                                       std::int64_t stem_slab = 0);
// The same with a window for each offset of the first pooling across the stream, a phase each.
[[nodiscard]] GeometryChoice phases_of(const Network& network, std::int64_t planes, std::int64_t step, int axis = 0);

// Of a field of view of 8: the least that a job may hold for its output to wait in bands of so many planes.
[[nodiscard]] std::int64_t held_for(std::int64_t planes, const EngineBench& made, const VolumeShape& volume);
// Of float32, read and written.
[[nodiscard]] JobOutcome run_holding(const EngineBench& made, const RandomVolume& volume, std::int64_t max_held);

}  // namespace znni::test
