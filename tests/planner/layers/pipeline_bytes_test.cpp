#include "planner/layers/pipeline_bytes.hpp"

#include <gtest/gtest.h>

#include "planner/plan/pairs.hpp"
#include "server/pipeline/split/pipeline.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"

namespace znni {
namespace {

using test::Random;

// A net, a patch or a stream of it, and where its segments may end.
struct Drawn {
  explicit Drawn(int number) : random(test::base_seed() + static_cast<std::uint64_t>(number)) {
    network = test::random_network(random, 16);
    choice = test::split_choice(network, random, random.integer(1, 2));
    if (random.chance(0.5)) choice = test::split_stream(network, random).value_or(choice);
    cuts = test::legal_cuts(network);
    cuts.push_back(static_cast<int>(network.nodes.size()));
  }
  int theta(int until) { return random.chance(0.5) ? 0 : std::min(until, cuts[cuts.size() / 2]); }

  Random random;
  Network network;
  GeometryChoice choice;
  std::vector<int> cuts;
};

// Returns the values that the rung's pairs leave out.
std::vector<bool> absent_of(const Rung& rung) {
  std::vector<bool> absent(1, false);
  for (const Segment& segment : rung.segments) {
    for (std::size_t i = 0; i < segment.steps.size(); ++i) absent.push_back(begins_pair(segment.steps, i));
  }
  return absent;
}

// The search counts the bytes that the pipeline reserves, for every cut.
TEST(PipelineBytes, AreWhatThePipelineReserves) {
  int opened = 0;
  for (int i = 0; i < test::case_count(20); ++i) {
    Drawn drawn(i);
    const NetworkWeights weights = random_weights(drawn.network, 1);
    const std::unique_ptr<Device> cpu = test::host_device(std::int64_t{1} << 30);
    test::HostSim gpu;
    for (const int until : drawn.cuts) {
      Result<Rung> rung = test::rung_of_three(drawn.network, drawn.choice, drawn.theta(until), until, cpu->spec(),
                                              gpu.spec(), drawn.random);
      ASSERT_TRUE(rung) << rung.error().message;
      if (drawn.random.chance(0.5)) test::join_pairs(drawn.network, *rung);
      const Catalogue catalogue = test::pair_catalogue();
      const Result<RungSegments> parts = take_apart(drawn.network, *rung, catalogue, {cpu->spec(), gpu.spec()});
      ASSERT_TRUE(parts) << parts.error().message;
      const auto pipeline = Pipeline::open(drawn.network, weights, *rung, catalogue, *cpu, gpu);
      if (!pipeline) continue;
      ++opened;
      const SpaceBytes counted = pipeline_bytes(*parts);
      EXPECT_EQ(gpu.reserved(MemorySpace::device), counted.device);
      EXPECT_EQ(gpu.reserved(MemorySpace::pinned), counted.pinned);
      // The kernels of a stream along y or x are copied on the host for the GPU, too.
      const std::int64_t host = cpu->reserved(MemorySpace::host) + gpu.reserved(MemorySpace::host);
      EXPECT_LE(host, counted.host);
      EXPECT_GE(host + 64 * 32, counted.host);  // this device counts bytes as they are
    }
  }
  EXPECT_GT(opened, 0);
}

TEST(MinBytes, AreNeverMoreThanAnyRungTakes) {
  const PlaceSpecs specs{DeviceSpec{}, test::host_sim_spec()};
  int streams = 0;
  for (int i = 0; i < test::case_count(40); ++i) {
    Drawn drawn(i);
    const Geometry geometry = make_geometry(drawn.network, drawn.choice).value();
    const MinBytes least(geometry);
    const auto nodes = static_cast<int>(drawn.network.nodes.size());
    EXPECT_EQ(least.kept(0, nodes) > 0,
              drawn.choice.streamed && reaches(drawn.network).back().fov[drawn.choice.axis] > 1);
    streams += drawn.choice.streamed ? 1 : 0;
    for (const int until : drawn.cuts) {
      const int theta = drawn.theta(until);
      if (theta == nodes) continue;
      Rung rung =
          test::rung_of_three(drawn.network, drawn.choice, theta, until, specs.cpu, specs.gpu, drawn.random).value();
      const std::int64_t micro_batch =
          drawn.random.chance(0.5) ? 1 : geometry.values[static_cast<std::size_t>(until)].S;
      if (until < nodes) rung.segments.back().micro_batch.inputs = micro_batch;
      if (drawn.random.chance(0.5)) test::join_pairs(drawn.network, rung);
      const SpaceBytes taken = pipeline_bytes(take_apart(drawn.network, rung, test::pair_catalogue(), specs).value());
      const SpaceBytes host = least.on_host(theta, until);
      EXPECT_TRUE(taken.covers(host)) << to_string(taken) << " below " << to_string(host);
      if (until == nodes) continue;
      const Geometry paired = with_pairs(drawn.network, geometry, absent_of(rung));
      EXPECT_LE(MinBytes(paired).on_device(until, micro_batch, absent_of(rung)), taken.device);
    }
  }
  EXPECT_GT(streams, 0);
}

}  // namespace
}  // namespace znni
