// Primitives that are described but never built: known stages, known bytes. For tests of what the planner
// makes of descriptions.
#pragma once

#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/plan/plan.hpp"
#include "tests/support/random.hpp"

namespace znni::test {

inline constexpr Format planar{};
inline constexpr Format blocked{ElementType::f32, Layout::blocked8};

// Bytes of the fakes' own buffers.
inline constexpr std::int64_t fake_transform_bytes = 640;
inline constexpr std::int64_t fake_kernel_bytes = 192;
inline constexpr std::int64_t fake_scratch_bytes = 128;

// Return the fakes, and a catalogue and a device of them:
// cpu.conv.staged:1   convolutions, planar -> planar, variants part=1 to 3. Three stages:
//                     input 0 [0, 0], "transforms" [0, 1] of part * fake_transform_bytes, output [1, 2],
//                     "kernels" persistent, fake_kernel_bytes; part=3 has a fourth stage with "late" of
//                     fake_scratch_bytes alone.
// cpu.conv.blocked:3  convolutions, blocked -> blocked and planar -> blocked, one stage, no scratch.
// cpu.any:2           all but convolutions and reorders, any one format; "scratch" in its only stage.
// cpu.reorder:1       reorders, one stage, no scratch.
// cpu.broken:1        convolutions; declares an output of 4 bytes.
// cpu.forgetful:1     convolutions; declares no input.
[[nodiscard]] const Backend& fake_backend();
[[nodiscard]] Catalogue fake_catalogue();
[[nodiscard]] DeviceSpec fake_device();

// Takes the first fake that can compute each node, in one of its formats chosen at random, with the reorders this
// needs. The network's output is planar.
[[nodiscard]] std::vector<Step> random_steps(const Network& network, Random& random);
// Returns steps that are planar throughout: cpu.conv.staged and cpu.any.
[[nodiscard]] std::vector<Step> planar_steps(const Network& network);

}  // namespace znni::test
