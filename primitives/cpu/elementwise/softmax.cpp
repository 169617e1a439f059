// cpu.softmax: softmax over the channels of each voxel, or its logarithm, planar. The largest value is subtracted
// first, so that no exponential overflows.
#include <array>
#include <cmath>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/across.hpp"
#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

// Measured instructions per element besides its exponential: the passes over it, including a division.
constexpr double softmax_instructions = 20.0;

using Row = std::array<float, static_cast<std::size_t>(max_chunk)>;

Result<std::vector<Estimate>> describe_softmax(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* across = std::get_if<AcrossChannelsProblem>(&problem);
  const bool suits =
      across != nullptr && (across->kind == AcrossKind::softmax || across->kind == AcrossKind::log_softmax);
  if (!suits) return refusal("cpu.softmax", "softmax and its logarithm", problem);
  return streaming_estimates(problem, spec, {planar_format},
                             exponential_flops(spec) + vector_flops(softmax_instructions, spec));
}

void find_max(const ChannelChunk& chunk, Row& most) {
  std::copy_n(chunk.in, chunk.count, most.begin());
  for (std::int64_t j = 1; j < chunk.f; ++j) {
    const float* const from = chunk.in + j * chunk.in_f;
    for (std::int64_t x = 0; x < chunk.count; ++x) {
      most[static_cast<std::size_t>(x)] = std::max(most[static_cast<std::size_t>(x)], from[x]);
    }
  }
}

// Writes the differences of channel j from the largest.
void subtract(const ChannelChunk& chunk, std::int64_t j, const Row& most, float* to) {
  const float* const from = chunk.in + j * chunk.in_f;
  for (std::int64_t x = 0; x < chunk.count; ++x) to[x] = from[x] - most[static_cast<std::size_t>(x)];
}

// Adds what channel j has of the sums, and leaves it in `powers`.
void add_powers(const ChannelChunk& chunk, std::int64_t j, const Row& most, float* powers, Row& sums) {
  subtract(chunk, j, most, powers);
  exponentiate({powers, static_cast<std::size_t>(chunk.count)});
  for (std::int64_t x = 0; x < chunk.count; ++x) sums[static_cast<std::size_t>(x)] += powers[x];
}

void softmax_chunk(const ChannelChunk& chunk, const Row& most) {
  Row sums{};
  for (std::int64_t j = 0; j < chunk.f; ++j) add_powers(chunk, j, most, chunk.out + j * chunk.out_f, sums);
  for (std::int64_t j = 0; j < chunk.f; ++j) {
    float* const to = chunk.out + j * chunk.out_f;
    for (std::int64_t x = 0; x < chunk.count; ++x) to[x] /= sums[static_cast<std::size_t>(x)];
  }
}

void log_softmax_chunk(const ChannelChunk& chunk, const Row& most) {
  Row sums{};
  Row powers;
  for (std::int64_t j = 0; j < chunk.f; ++j) add_powers(chunk, j, most, powers.data(), sums);
  for (std::int64_t x = 0; x < chunk.count; ++x) {
    sums[static_cast<std::size_t>(x)] = std::log(sums[static_cast<std::size_t>(x)]);
  }
  for (std::int64_t j = 0; j < chunk.f; ++j) {
    float* const to = chunk.out + j * chunk.out_f;
    subtract(chunk, j, most, to);
    for (std::int64_t x = 0; x < chunk.count; ++x) to[x] -= sums[static_cast<std::size_t>(x)];
  }
}

void make_chunk(const ChannelChunk& chunk, const AcrossChannelsProblem& problem) {
  Row most;
  find_max(chunk, most);
  if (problem.kind == AcrossKind::softmax) return softmax_chunk(chunk, most);
  log_softmax_chunk(chunk, most);
}

}  // namespace

extern constinit const Primitive softmax{"cpu.softmax", 2, DeviceKind::cpu, &describe_softmax,
                                         &prepare_across<make_chunk>};

}  // namespace znni::cpu
