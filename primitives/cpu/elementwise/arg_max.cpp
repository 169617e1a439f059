// cpu.arg_max: the number of the largest channel of each voxel, planar. If several are equal, it is the first, or the
// last.
#include <array>
#include <cmath>
#include <limits>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/across.hpp"

namespace znni::cpu {
namespace {

// Instructions per element read: two comparisons and two choices.
constexpr double arg_max_instructions = 6.0;

Result<std::vector<Estimate>> describe_arg_max(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* across = std::get_if<AcrossChannelsProblem>(&problem);
  if (across == nullptr || !makes_one_channel(across->kind)) {
    return refusal("cpu.arg_max", "numbers of largest channels", problem);
  }
  return streaming_estimates(problem, spec, {planar_format},
                             vector_flops(arg_max_instructions * static_cast<double>(across->in.f), spec));
}

// Finds the largest. A NaN stays the largest, because no comparison with it is true: then the number is NaN, too.
template <bool last>
void arg_max_chunk(const ChannelChunk& chunk) {
  std::array<float, static_cast<std::size_t>(max_chunk)> most;
  std::copy_n(chunk.in, chunk.count, most.begin());
  std::fill_n(chunk.out, chunk.count, 0.0F);
  for (std::int64_t j = 1; j < chunk.f; ++j) {
    const float* const from = chunk.in + j * chunk.in_f;
    const auto number = static_cast<float>(j);
    for (std::int64_t x = 0; x < chunk.count; ++x) {
      float& own = most[static_cast<std::size_t>(x)];
      const bool is_more = (last ? from[x] >= own : from[x] > own) || std::isnan(from[x]);
      chunk.out[x] = is_more ? number : chunk.out[x];
      own = is_more ? from[x] : own;
    }
  }
  for (std::int64_t x = 0; x < chunk.count; ++x) {
    if (std::isnan(most[static_cast<std::size_t>(x)])) chunk.out[x] = std::numeric_limits<float>::quiet_NaN();
  }
}

void make_chunk(const ChannelChunk& chunk, const AcrossChannelsProblem& problem) {
  if (problem.kind == AcrossKind::arg_max_last) return arg_max_chunk<true>(chunk);
  arg_max_chunk<false>(chunk);
}

}  // namespace

extern constinit const Primitive arg_max{"cpu.arg_max", 1, DeviceKind::cpu, &describe_arg_max,
                                         &prepare_across<make_chunk>};

}  // namespace znni::cpu
