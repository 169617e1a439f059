// Memory of the two convolutions by FFT and its stages: Table II of the ZNNi paper, in bytes. The planner gets it as
// declared; the arena grants it.
#pragma once

#include <cstdint>
#include <string_view>

#include "primitives/core/memory.hpp"
#include "primitives/core/problem.hpp"

namespace znni::cpu {

// Names of the buffers beside input and output. Transforms lie one after the other, channel by channel.
inline constexpr std::string_view channel_transforms = "transforms of input channels";
inline constexpr std::string_view output_transforms = "transforms of output channels";
inline constexpr std::string_view kernel_transforms = "transforms of kernels";
// Two tiles of lines per worker (primitives/cpu/fft/pruned_fft.hpp), kept as long as the plan is loaded. They are the
// work space of the 1D transforms, a few kilobytes; the paper leaves it to its library and does not count it.
inline constexpr std::string_view line_tiles = "line tiles";
inline constexpr int tiles_per_worker = 2;

// Returns the number of threads that own a kernel buffer in the task-parallel algorithm: the smaller of the numbers of
// workers and of output channels. (The paper prints the larger, but chooses these threads among the workers.)
[[nodiscard]] std::int64_t primary_threads(int workers, std::int64_t f_out);

// Both plans hold a residual from the first stage to the one that writes the output.

// Returns the memory plan of section IV.A.3. Stage 0: input, its transforms. Stage 1: transforms of input and output,
// one kernel transform per primary thread. Stage 2: transforms of the output, output. peak() is Table II:
//   max{S f (n + n~), (S (f + f_out) + T) n~, S f_out (n' + n~)} elements.
[[nodiscard]] MemoryPlan task_parallel_memory(const ConvProblem& problem, int workers);

// Returns the memory plan of section IV.A.2. Stage 0: input, its transforms. Stage 1: transforms of the input, one of a
// kernel, one of an output channel for each of the S inputs, output. Table II counts S f + 1 transforms in stage 1, but
// the paper's pseudo-code holds S f + S + 1. This plan declares the latter.
[[nodiscard]] MemoryPlan data_parallel_memory(const ConvProblem& problem, int workers);

// Returns how many channels of all S inputs the data-parallel form transforms between two synchronisations of its
// workers. It is as many as stay in a cache, at least one.
[[nodiscard]] std::int64_t channels_per_meeting(const ConvProblem& problem);

}  // namespace znni::cpu
