#include "primitives/cpu/fft/conv_fft_memory.hpp"

#include <algorithm>

#include "primitives/core/primitive.hpp"
#include "primitives/cpu/fft/pruned_fft.hpp"

namespace znni::cpu {
namespace {

Buffer host_buffer(std::string_view name, std::int64_t bytes, Lifetime lifetime) {
  return {std::string(name), MemorySpace::host, bytes, lifetime};
}

// Returns a buffer of `count` transforms of a layer.
Buffer transforms(std::string_view name, const ConvProblem& problem, std::int64_t count, Lifetime lifetime) {
  const std::int64_t bytes = mul(transform_elements(fft_extent(problem.in.n)), sizeof(Complex));
  return host_buffer(name, mul(count, bytes), lifetime);
}

Buffer tiles(const ConvProblem& problem, int workers) {
  const std::int64_t bytes = mul(tile_elements(fft_extent(problem.in.n)), sizeof(Complex));
  return host_buffer(line_tiles, mul(mul(tiles_per_worker, workers), bytes), Lifetime::plan());
}

Buffer input(const ConvProblem& problem) {
  return host_buffer(input_name(0), tensor_bytes(problem.in, {}), Lifetime::stages(0, 0));
}

Buffer output(const ConvProblem& problem, int stage) {
  return host_buffer(output_name, tensor_bytes(output_shape(problem), {}), Lifetime::stages(stage, stage));
}

// Adds the residual, which is read while the output is written, in `stage`.
MemoryPlan with_residual(MemoryPlan memory, const ConvProblem& problem, int stage) {
  if (!problem.residual) return memory;
  memory.push_back(host_buffer(input_name(1), tensor_bytes(output_shape(problem), {}), Lifetime::stages(0, stage)));
  return memory;
}

}  // namespace

std::int64_t channels_per_meeting(const ConvProblem& problem) {
  constexpr std::int64_t cached_bytes = std::int64_t{1} << 20;
  const std::int64_t bytes = mul(transform_elements(fft_extent(problem.in.n)), sizeof(Complex));
  return std::clamp<std::int64_t>(cached_bytes / bytes, 1, mul(problem.in.S, problem.in.f));
}

std::int64_t primary_threads(int workers, std::int64_t f_out) { return std::min<std::int64_t>(workers, f_out); }

MemoryPlan task_parallel_memory(const ConvProblem& problem, int workers) {
  const std::int64_t S = problem.in.S;
  const MemoryPlan memory = {
      input(problem),
      transforms(channel_transforms, problem, mul(S, problem.in.f), Lifetime::stages(0, 1)),
      transforms(kernel_transforms, problem, primary_threads(workers, problem.f_out), Lifetime::stages(1, 1)),
      transforms(output_transforms, problem, mul(S, problem.f_out), Lifetime::stages(1, 2)),
      output(problem, 2),
      tiles(problem, workers)};
  return with_residual(memory, problem, 2);
}

MemoryPlan data_parallel_memory(const ConvProblem& problem, int workers) {
  const std::int64_t S = problem.in.S;
  const MemoryPlan memory = {input(problem),
                             transforms(channel_transforms, problem, mul(S, problem.in.f), Lifetime::stages(0, 1)),
                             transforms(kernel_transforms, problem, 1, Lifetime::stages(1, 1)),
                             transforms(output_transforms, problem, S, Lifetime::stages(1, 1)),
                             output(problem, 1),
                             tiles(problem, workers)};
  return with_residual(memory, problem, 1);
}

}  // namespace znni::cpu
