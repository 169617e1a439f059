#include "planner/split/patch_segments.hpp"

#include <gtest/gtest.h>

#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"

namespace znni {
namespace {

using test::Random;

// Drawn cuts of one patch after the other, some of them with segments in common.
TEST(PatchSegments, CountTheBytesOfAWholeRung) {
  const PlaceSpecs specs{DeviceSpec{}, test::host_sim_spec()};
  const Catalogue catalogue = test::pair_catalogue();
  for (int i = 0; i < test::case_count(20); ++i) {
    Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const Network network = test::random_network(random, 16);
    GeometryChoice choice = test::split_choice(network, random, random.integer(1, 2));
    if (random.chance(0.5)) choice = test::split_stream(network, random).value_or(choice);
    const Geometry geometry = make_geometry(network, choice).value();
    PatchSegments segments(network, geometry, catalogue, specs);
    for (int turn = 0; turn < 3; ++turn) {
      for (const test::CutsOfThree& cuts : test::cuts_of_three(network, random)) {
        Rung rung = test::rung_of_three(network, choice, cuts.theta, cuts.until, specs.cpu, specs.gpu, random).value();
        if (random.chance(0.5)) test::join_pairs(network, rung);
        const SpaceBytes expected = pipeline_bytes(take_apart(network, rung, catalogue, specs).value());
        EXPECT_EQ(segments.pipeline_bytes_of(rung.segments).value(), expected);
      }
    }
  }
}

TEST(PatchSegments, RefuseWhatCannotBeTakenApart) {
  const PlaceSpecs specs{DeviceSpec{}, test::host_sim_spec()};
  const Catalogue catalogue = test::pair_catalogue();
  Random random(test::base_seed());
  const Network network = test::random_network(random, 16);
  const GeometryChoice choice = test::split_choice(network, random, 1);
  const Geometry geometry = make_geometry(network, choice).value();
  PatchSegments segments(network, geometry, catalogue, specs);
  Rung rung = test::split_rung(network, choice, 0, 1, specs.cpu, specs.gpu).value();
  const auto refused = [&] { return segments.pipeline_bytes_of(rung.segments).error().message; };
  const auto expected = [&] { return take_apart(network, rung, catalogue, specs).error().message; };
  rung.segments.back().steps.back().primitive = "unknown";
  EXPECT_EQ(refused(), expected());
  rung.segments.back().first = 1;
  EXPECT_EQ(refused(), expected());
}

}  // namespace
}  // namespace znni
