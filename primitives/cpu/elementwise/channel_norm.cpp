// cpu.channel_norm: layer normalisation of the channels of each voxel, planar. A mean, then a variance of the
// differences from it, both in float64, so that nothing cancels. Unit length has a mean of 0 and, for the deviation,
// the length.
#include <array>
#include <cmath>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/across.hpp"

namespace znni::cpu {
namespace {

// Instructions per element: three passes, each with a conversion to float64, which halves the vectors.
constexpr double channel_norm_instructions = 20.0;

using Row = std::array<double, static_cast<std::size_t>(max_chunk)>;

Result<std::vector<Estimate>> describe_channel_norm(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* across = std::get_if<AcrossChannelsProblem>(&problem);
  if (across == nullptr || (across->kind != AcrossKind::norm && across->kind != AcrossKind::unit)) {
    return refusal("cpu.channel_norm", "normalisations of the channels of voxels", problem);
  }
  return streaming_estimates(problem, spec, {planar_format}, vector_flops(channel_norm_instructions, spec));
}

void find_means(const ChannelChunk& chunk, Row& mean) {
  std::fill_n(mean.begin(), chunk.count, 0.0);
  for (std::int64_t j = 0; j < chunk.f; ++j) {
    const float* const from = chunk.in + j * chunk.in_f;
    for (std::int64_t x = 0; x < chunk.count; ++x) mean[static_cast<std::size_t>(x)] += static_cast<double>(from[x]);
  }
  for (std::int64_t x = 0; x < chunk.count; ++x) mean[static_cast<std::size_t>(x)] /= static_cast<double>(chunk.f);
}

// Returns what 1 is over the deviation, or over the length, of `f` channels whose squares add up to this.
double inverse_of(const AcrossChannelsProblem& problem, double squares) {
  const auto epsilon = static_cast<double>(problem.epsilon);
  if (problem.kind == AcrossKind::unit) return 1.0 / std::max(std::sqrt(squares), epsilon);  // of a NaN a NaN
  return 1.0 / std::sqrt(squares / static_cast<double>(problem.in.f) + epsilon);
}

void find_inverses(const ChannelChunk& chunk, const Row& mean, const AcrossChannelsProblem& problem, Row& inverse) {
  std::fill_n(inverse.begin(), chunk.count, 0.0);
  for (std::int64_t j = 0; j < chunk.f; ++j) {
    const float* const from = chunk.in + j * chunk.in_f;
    for (std::int64_t x = 0; x < chunk.count; ++x) {
      const double off = static_cast<double>(from[x]) - mean[static_cast<std::size_t>(x)];
      inverse[static_cast<std::size_t>(x)] += off * off;
    }
  }
  for (std::int64_t x = 0; x < chunk.count; ++x) {
    double& own = inverse[static_cast<std::size_t>(x)];
    own = inverse_of(problem, own);
  }
}

void make_chunk(const ChannelChunk& chunk, const AcrossChannelsProblem& problem) {
  Row mean;
  Row inverse;
  problem.kind == AcrossKind::unit ? mean.fill(0.0) : find_means(chunk, mean);
  find_inverses(chunk, mean, problem, inverse);
  for (std::int64_t j = 0; j < chunk.f; ++j) {
    const float* const from = chunk.in + j * chunk.in_f;
    float* const to = chunk.out + j * chunk.out_f;
    for (std::int64_t x = 0; x < chunk.count; ++x) {
      const double off = static_cast<double>(from[x]) - mean[static_cast<std::size_t>(x)];
      to[x] = static_cast<float>(off * inverse[static_cast<std::size_t>(x)]);
    }
  }
}

}  // namespace

extern constinit const Primitive channel_norm{"cpu.channel_norm", 1, DeviceKind::cpu, &describe_channel_norm,
                                              &prepare_across<make_chunk>};

}  // namespace znni::cpu
