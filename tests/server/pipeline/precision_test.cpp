// Pipelines whose layers are computed in TF32 and bf16, on the simulated GPU: within what such roundings may do, and in
// the memory that was counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/split/divided_ways.hpp"
#include "planner/split/gpu_tails.hpp"
#include "server/pipeline/split/pipeline.hpp"
#include "tests/oracle/tolerance.hpp"
#include "tests/planner/drawn_primitives.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"
#include "tests/support/rounding.hpp"

namespace znni::test {
namespace {

// Returns options of a GPU on which matrix units are worth their reorders.
HostSimOptions options_of(std::uint64_t seed) {
  HostSimOptions options;
  options.seed = seed;
  options.spec.bytes_per_second = 1e12;
  options.spec.accelerator.tf32_flops_per_second = 4e12;
  options.spec.accelerator.bf16_flops_per_second = 1e13;
  return options;
}

NetworkWeights magnitudes(NetworkWeights weights) {
  for (NodeWeights& node : weights) {
    for (std::vector<float>* each : {&node.kernels, &node.bias, &node.scale, &node.shift}) {
      for (float& value : *each) value = std::abs(value);
    }
  }
  return weights;
}

// Returns how far each output may be off. A layer rounds what it reads, its weights and what it writes, and a reorder
// once more: each multiplies a term by 1 + d, |d| <= u. Sums, ReLU and max pooling spread an error no further than they
// spread values, so that after m roundings in a row it is at most ((1 + u)^m - 1) A, where A is what the net makes of
// the magnitudes of volume and weights. To that comes what float32 itself rounds.
oracle::Values bounds(const Network& network, const NetworkWeights& weights, Vec3 n, oracle::Values volume,
                      Precision precision) {
  for (double& value : volume) value = std::abs(value);
  oracle::Values most = dense_oracle(network, magnitudes(weights), n, volume);
  const double roundings = 1.0 + 4.0 * static_cast<double>(network.nodes.size());
  const double factor = std::pow(1.0 + unit_of(precision), roundings) - 1.0 + 1e-5;
  for (double& value : most) value *= factor;
  return most;
}

struct Seen {
  int coarse = 0;            // runs with layers coarser than float32
  oracle::Walk walk;         // of theirs; the bounds above are so wide that layers in bf16 stay within TF32's
  int reordered_inputs = 0;  // of tails
  int reordered_parts = 0;   // of layers through host RAM
  double furthest = 0;       // from the oracle, over the largest output
};

// A net with a volume on both devices, and what comes out.
struct Bench {
  Bench(const Network& net, GeometryChoice chosen, Precision coarsest, std::uint64_t number)
      : network(net), choice(std::move(chosen)), precision(coarsest), seed(number), gpu(options_of(number)) {}

  // Runs the rung, which must be within what the precision may do.
  void expect_within_bounds(const Rung& rung, Seen& seen) {
    const auto pipeline = Pipeline::open(network, weights, rung, catalogue, *cpu, gpu, gpu.poison());
    ASSERT_TRUE(pipeline) << pipeline.error().message;
    const SpaceBytes counted = pipeline_bytes(take_apart(network, rung, catalogue, {cpu->spec(), gpu.spec()}).value());
    EXPECT_EQ(gpu.reserved(MemorySpace::device), counted.device);
    JobOutcome outcome;
    const Shape5 output{1, channels_of(network).back(), volume.shape.n - fov + Vec3::cube(1)};
    const VolumeJob job = recorded_job(volume.view(), output, ElementType::f32, VolumeOrder::channel_major, outcome);
    const Result<PipelineStatistics> ran = (*pipeline)->run(job, {});
    ASSERT_TRUE(ran) << ran.error().message;
    const std::vector<float> found = output_values(outcome);
    ASSERT_EQ(found.size(), exact.size());
    for (std::size_t i = 0; i < exact.size(); ++i) {
      ASSERT_LE(std::abs(static_cast<double>(found[i]) - exact[i]), max_off[i]) << "output " << i;
    }
    count(rung, found, seen);
  }

  void count(const Rung& rung, const std::vector<float>& found, Seen& seen) const {
    std::int64_t coarse = 0;
    for (const Segment& segment : rung.segments) {
      for (const Step& step : segment.steps) {
        coarse += precision_of(step) > Precision::fp32 ? 1 : 0;
        seen.reordered_parts += !step.division.empty() && !step.reorder.empty() ? 1 : 0;
        seen.reordered_inputs += step.node < 0 && segment.first > 0 ? 1 : 0;
      }
    }
    seen.coarse += coarse > 0 ? 1 : 0;
    if (coarse > 0) seen.walk.add(coarse, found, exact);
    seen.furthest = std::max(seen.furthest, relative_error(found, exact));
  }

  Network network;
  GeometryChoice choice;
  Precision precision;
  std::uint64_t seed;
  NetworkWeights weights = random_weights(network, seed);
  std::unique_ptr<Device> cpu = host_device(std::int64_t{1} << 28, std::byte{0xff});
  HostSim gpu;
  Catalogue catalogue = pair_catalogue();
  std::unique_ptr<CostSource> costs = modelled_costs();
  Geometry geometry = make_geometry(network, choice).value();
  Random random{seed};
  Vec3 fov = reaches(network).back().fov;
  RandomVolume volume = random_volume(network.f_in, fov + random.vec3(0, 9), ElementType::f32, random);
  oracle::Values voxels = volume_values(volume.view(), {});
  oracle::Values exact = dense_oracle(network, weights, volume.shape.n, voxels);
  oracle::Values max_off = bounds(network, weights, volume.shape.n, voxels, precision);
};

// Expects exact outputs within bounds for every cut of a net, each with one way for its tail that may be coarser than
// float32.
void expect_tails_within_bounds(Bench& bench, Seen& seen) {
  FastestWays fastest(DeviceKind::gpu, bench.gpu.spec(), bench.catalogue, *bench.costs, bench.precision);
  TailFamilies families(bench.network);
  GpuTails tails(bench.network, bench.geometry, bench.gpu.spec(), fastest, families, bench.precision,
                 std::numeric_limits<Seconds>::infinity());
  for (const int theta : legal_cuts(bench.network)) {
    std::vector<TailWay> ways = tails.ways(theta);
    std::erase_if(ways, [&](const TailWay& way) { return way.precision != bench.precision; });
    const TailWay way = ways[static_cast<std::size_t>(bench.random.integer(0, std::ssize(ways) - 1))];
    Rung rung =
        split_rung(bench.network, bench.choice, theta, way.micro_batch, bench.cpu->spec(), bench.gpu.spec()).value();
    rung.segments.back().steps = tails.find(theta, way).value().steps;
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(bench.seed) + ", theta " + std::to_string(theta));
    bench.expect_within_bounds(rung, seen);
  }
}

// Expects outputs within bounds for every cut of a net, the layers before it through host RAM, in parts that fit into
// little memory or much.
void expect_host_ram_within_bounds(Bench& bench, Seen& seen) {
  FastestWays on_cpu(DeviceKind::cpu, bench.cpu->spec(), bench.catalogue, *bench.costs);
  LeastDividedTimes known;
  DividedWays ways(bench.geometry, bench.catalogue, bench.gpu.spec(), on_cpu, known,
                   std::numeric_limits<Seconds>::infinity(), bench.precision);
  for (const CutsOfThree& cuts : cuts_of_three(bench.network, bench.random)) {
    Rung rung = rung_of_three(bench.network, bench.choice, 0, cuts.until, bench.cpu->spec(), bench.gpu.spec(),
                              bench.random, bench.catalogue)
                    .value();
    const std::int64_t bytes = std::int64_t{1} << bench.random.integer(16, 24);
    for (Step& step : rung.segments.front().steps) {
      const Result<Step> fastest = ways.fastest(step.node, {bytes, bytes, bytes});
      if (fastest) step = *fastest;
    }
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(bench.seed) + ", until " + std::to_string(cuts.until));
    bench.expect_within_bounds(rung, seen);
  }
}

// Returns chains, a branch that is concatenated, and a residual.
std::vector<Network> nets() {
  return {simple_network(2), simple_network(1, {3, 1, 2}, 4), drawn::branches(), drawn::residuals()};
}

void expect_rounded(const Seen& seen, Precision precision) {
  EXPECT_GT(seen.coarse, 0);
  EXPECT_GT(seen.furthest, 1e-5) << "nothing was rounded: these layers are float32";
  const double unit = seen.walk.unit();
  EXPECT_LT(unit, unit_of(precision)) << "rounded coarser than the plan says";
  if (precision == Precision::bf16) {
    EXPECT_GT(unit, unit_of(Precision::tf32)) << "bf16 would pass for TF32";
  }
}

void expect_all_within_bounds(Precision precision, bool streamed) {
  Seen tails;
  Seen host_ram;
  std::uint64_t seed = base_seed();
  for (const Network& network : nets()) {
    for (int i = 0; i < case_count(4); ++i) {
      GeometryChoice choice = choice_of(network, PoolMode::fragments, 1);
      choice.streamed = streamed;
      if (streamed) choice.pass_input.z = 8;
      Bench bench(network, choice, precision, ++seed);
      expect_tails_within_bounds(bench, tails);
      expect_host_ram_within_bounds(bench, host_ram);
    }
  }
  if (case_count(4) < 4) return;  // what a few cases round may be coarser than the bound of many
  expect_rounded(tails, precision);
  expect_rounded(host_ram, precision);
  EXPECT_GT(tails.reordered_inputs, 0) << "behind a head";
  EXPECT_GT(host_ram.reordered_parts, 0);
}

TEST(Precisions, InTf32PatchesAreWithinTheirBounds) { expect_all_within_bounds(Precision::tf32, false); }
TEST(Precisions, InTf32StreamsAreWithinTheirBounds) { expect_all_within_bounds(Precision::tf32, true); }
TEST(Precisions, InBf16PatchesAreWithinTheirBounds) { expect_all_within_bounds(Precision::bf16, false); }
TEST(Precisions, InBf16StreamsAreWithinTheirBounds) { expect_all_within_bounds(Precision::bf16, true); }

}  // namespace
}  // namespace znni::test
