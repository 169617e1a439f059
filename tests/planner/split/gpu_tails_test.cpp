#include "planner/split/gpu_tails.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"

namespace znni {
namespace {

using test::Random;

constexpr Seconds endless = std::numeric_limits<Seconds>::infinity();

// A drawn net and patch, or steps of a stream, whose tails run on a GPU with fast matrix units.
struct Bench {
  explicit Bench(int number) : random(test::base_seed() + static_cast<std::uint64_t>(number)) {
    network = test::random_network(random, 16);
    choice = test::split_choice(network, random, random.integer(1, 3));
    if (random.chance(0.5)) choice = test::split_stream(network, random).value_or(choice);
    geometry = make_geometry(network, choice).value();
    specs.gpu.bytes_per_second = random.chance(0.5) ? 1e9 : 1e12;
    specs.gpu.accelerator.tf32_flops_per_second = 4e12;
    specs.gpu.accelerator.bf16_flops_per_second = 1e13;
  }
  [[nodiscard]] GpuTails tails(Precision coarsest, Seconds below = endless) {
    return {network, geometry, specs.gpu, ways, families, coarsest, below};
  }
  // Returns a rung whose head the oracle computes, on the CPU.
  [[nodiscard]] Rung rung(int theta, const TailWay& way, const Tail& tail) const {
    Rung made = test::split_rung(network, choice, theta, way.micro_batch, specs.cpu, specs.gpu).value();
    made.segments.back().steps = tail.steps;
    return made;
  }

  Random random;
  Network network;
  GeometryChoice choice;
  Geometry geometry;
  PlaceSpecs specs{DeviceSpec{}, test::host_sim_spec()};
  Catalogue catalogue = test::pair_catalogue();
  std::unique_ptr<CostSource> costs = modelled_costs();
  FastestWays ways{DeviceKind::gpu, specs.gpu, catalogue, *costs, Precision::bf16};
  TailFamilies families{network};
};

TEST(GpuTails, AreNeverSlowerWhereMoreIsAllowedAndNeverCoarserThanThat) {
  int coarse = 0;
  int reordered_inputs = 0;
  for (int i = 0; i < test::case_count(20); ++i) {
    Bench bench(i);
    GpuTails tails = bench.tails(Precision::bf16);
    for (const int until : test::legal_cuts(bench.network)) {
      std::map<std::pair<std::int64_t, bool>, Seconds> before;
      for (const TailWay& way : tails.ways(until)) {
        const Result<Tail>& tail = tails.find(until, way);
        ASSERT_TRUE(tail) << tail.error().message;
        const auto [stricter, is_first] = before.try_emplace({way.micro_batch, way.in_pairs}, tail->seconds);
        EXPECT_EQ(is_first, way.precision == Precision::fp32);
        EXPECT_LE(tail->seconds, stricter->second);
        stricter->second = tail->seconds;
        reordered_inputs += tail->steps.front().node < 0 ? 1 : 0;
        for (const Step& step : tail->steps) {
          const Precision own = precision_of(step);
          EXPECT_LE(own, way.precision);
          coarse += own > Precision::fp32 ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(coarse, 0);
  EXPECT_GT(reordered_inputs, 0);
}

TEST(GpuTails, TakeAtLeastWhatTheyAreSaidTo) {
  int known_closer = 0;
  for (int i = 0; i < test::case_count(20); ++i) {
    Bench bench(i);
    GpuTails tails = bench.tails(Precision::bf16);
    for (const int until : test::legal_cuts(bench.network)) {
      for (const TailWay& way : tails.ways(until)) {
        const Tail& tail = tails.find(until, way).value();
        const Rung rung = bench.rung(until, way, tail);
        const Result<RungSegments> parts = take_apart(bench.network, rung, bench.catalogue, bench.specs);
        ASSERT_TRUE(parts) << parts.error().message;
        const std::int64_t of_tensors = tails.min_bytes(until, way);
        const std::int64_t of_layers = tails.min_bytes(until, way, tail.bytes);
        EXPECT_LE(of_tensors, of_layers);
        EXPECT_LE(of_layers, pipeline_bytes(*parts).device);
        known_closer += of_tensors < of_layers ? 1 : 0;
      }
    }
  }
  EXPECT_GT(known_closer, 0);
}

TEST(GpuTails, ThatAreSlowerThanAskedForAreRefused) {
  Bench bench(1);
  GpuTails free = bench.tails(Precision::bf16);
  const std::vector<TailWay> ways = free.ways(0);
  for (const TailWay& way : ways) {
    const Seconds seconds = free.find(0, way).value().seconds;
    EXPECT_TRUE(bench.tails(Precision::bf16, seconds * 1.000001).find(0, way));
    const Result<Tail> refused = bench.tails(Precision::bf16, seconds).find(0, way);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("slower"));
  }
  for (const TailWay& way : bench.tails(Precision::tf32).ways(0)) EXPECT_LE(way.precision, Precision::tf32);
}

}  // namespace
}  // namespace znni
