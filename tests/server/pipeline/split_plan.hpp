// Rungs cut in two: a head on the CPU by the oracle's primitive, a tail on the simulated GPU.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/plan/plan.hpp"
#include "tests/support/random.hpp"

namespace znni::test {

// Returns the oracle's primitive and those of the simulated GPU, or of another one.
[[nodiscard]] Catalogue split_catalogue();
[[nodiscard]] Catalogue split_catalogue(std::span<const Primitive* const> gpu);

// Returns the simulated GPU's primitives with one more: a convolution and the pooling behind it at once.
[[nodiscard]] Catalogue pair_catalogue();
// Has that one compute all pairs on the GPU: how many there are.
int join_pairs(const Network& network, Rung& rung);

// Returns the nodes before which the net may be cut, 0 among them: a tail alone.
[[nodiscard]] std::vector<int> legal_cuts(const Network& network);

// Returns a rung of the first `theta` nodes on the CPU, the others on the GPU in micro-batches of `micro_batch` inputs
// (0: all).
[[nodiscard]] Result<Rung> split_rung(const Network& network, const GeometryChoice& choice, int theta,
                                      std::int64_t micro_batch, const DeviceSpec& cpu, const DeviceSpec& gpu);

// Returns a rung of three places: nodes [0, theta) on the CPU, [theta, until) through host RAM, convolutions divided at
// random and the others on the CPU, [until, end) on the GPU; any of them may be empty, not all but the first. Steps are
// of `catalogue`, planar and in float32 throughout.
[[nodiscard]] Result<Rung> rung_of_three(const Network& network, const GeometryChoice& choice, int theta, int until,
                                         const DeviceSpec& cpu, const DeviceSpec& gpu, Random& random,
                                         const Catalogue& catalogue = split_catalogue());

// Places where rung_of_three() may cut: for every `until` one `theta` below it, half of them 0.
struct CutsOfThree {
  int theta = 0;
  int until = 0;
};
[[nodiscard]] std::vector<CutsOfThree> cuts_of_three(const Network& network, Random& random);

// Returns a plan whose first rung is split_rung() in micro-batches of one, and is the fastest; behind it, with
// `fallback`, one of the same choice on the CPU alone.
[[nodiscard]] Plan mixed_plan(const Network& network, const GeometryChoice& choice, int theta, const DeviceSpec& cpu,
                              const DeviceSpec& gpu, bool fallback = true);
// Returns the same plan with these rungs behind it.
[[nodiscard]] Plan mixed_plan(const Network& network, const GeometryChoice& choice, int theta, const DeviceSpec& cpu,
                              const DeviceSpec& gpu, const std::vector<GeometryChoice>& fallbacks);

// Draws a choice near the smallest, of a kind that segments of two places run: no stem in slabs, no input held.
[[nodiscard]] GeometryChoice split_choice(const Network& network, Random& random, std::int64_t S);
// Draws a stream; nothing if the modes drawn never allow one.
[[nodiscard]] std::optional<GeometryChoice> split_stream(const Network& network, Random& random);

}  // namespace znni::test
