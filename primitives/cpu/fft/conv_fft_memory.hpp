// What the two convolutions by FFT hold, and when: Table II of the ZNNi paper, in bytes, as declared to the
// planner and granted by the arena.
#pragma once

#include <cstdint>
#include <string_view>

#include "primitives/core/memory.hpp"
#include "primitives/core/problem.hpp"

namespace znni::cpu {

// Names of the buffers beside input and output. Transforms lie one after the other, image by image.
inline constexpr std::string_view image_transforms = "transforms of input images";
inline constexpr std::string_view output_transforms = "transforms of output images";
inline constexpr std::string_view kernel_transforms = "transforms of kernels";
// Two tiles of lines per worker (primitives/cpu/fft/pruned_fft.hpp), kept as long as the plan is loaded: the work
// space of the 1D transforms, a few kilobytes, which the paper leaves to its library and does not count.
inline constexpr std::string_view line_tiles = "line tiles";
inline constexpr int tiles_per_worker = 2;

// Threads that own a kernel buffer in the task-parallel algorithm: the smaller of the numbers of workers and
// of output images (the paper prints the larger, but chooses them among the workers).
[[nodiscard]] std::int64_t primary_threads(int workers, std::int64_t f_out);

// Both hold a residual from the first stage to the one in which they write the output.

// Section IV.A.3. Stage 0: input, its transforms. Stage 1: transforms of input and output, a kernel transform
// per primary thread. Stage 2: transforms of the output, output. peak() is Table II:
//   max{S f (n + n~), (S (f + f_out) + T) n~, S f_out (n' + n~)} elements.
[[nodiscard]] MemoryPlan task_parallel_memory(const ConvProblem& problem, int workers);

// Section IV.A.2. Stage 0: input, its transforms. Stage 1: transforms of the input, one of a kernel, of one
// output image of each of the S inputs, output. Table II counts S f + 1 transforms in stage 1, the
// pseudo-code holds S f + S + 1; we declare what we hold.
[[nodiscard]] MemoryPlan data_parallel_memory(const ConvProblem& problem, int workers);

}  // namespace znni::cpu
