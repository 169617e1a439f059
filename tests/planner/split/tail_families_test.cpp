#include "planner/split/tail_families.hpp"

#include <gtest/gtest.h>

#include "planner/layers/segments.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"

namespace znni {
namespace {

using test::Random;

// Returns the choice of a tail, which reads `micro_batch` of the patch's inputs.
GeometryChoice choice_of_tail(const Network& network, const Geometry& whole, int until, std::int64_t micro_batch) {
  const int last = static_cast<int>(network.nodes.size()) - 1;
  GeometryChoice choice{whole.values[static_cast<std::size_t>(until)].n, micro_batch,
                        modes_of(network, whole.choice, until, last)};
  choice.streamed = whole.choice.streamed;
  choice.axis = whole.choice.axis;
  return choice;
}

TEST(TailFamilies, HaveTheGeometriesOfTheTails) {
  for (int i = 0; i < test::case_count(40); ++i) {
    Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const Network network = test::random_network(random, 16);
    TailFamilies families(network);
    for (int patch = 0; patch < 3; ++patch) {
      GeometryChoice choice = test::split_choice(network, random, random.integer(1, 3));
      if (random.chance(0.5)) choice = test::split_stream(network, random).value_or(choice);
      const Geometry whole = make_geometry(network, choice).value();
      for (const int until : test::legal_cuts(network)) {
        const std::int64_t S = whole.values[static_cast<std::size_t>(until)].S;
        const GeometryChoice tail = choice_of_tail(network, whole, until, random.chance(0.5) ? 1 : S);
        const Geometry expected = make_part_geometry(families.network_from(until), tail).value();
        const Geometry found = families.family_from(until, tail).value().with_passes(tail.pass_input).value();
        EXPECT_EQ(found.choice, expected.choice);
        EXPECT_EQ(found.problems, expected.problems);
        EXPECT_EQ(found.values, expected.values);
        EXPECT_EQ(found.patch_output, expected.patch_output);
        EXPECT_EQ(found.passes.size(), expected.passes.size());
      }
    }
  }
}

TEST(TailFamilies, KeepOneOfEachKind) {
  Random random(test::base_seed());
  const Network network = test::random_network(random, 16);
  TailFamilies families(network);
  const Geometry whole = make_geometry(network, test::split_choice(network, random, 1)).value();
  GeometryChoice tail = choice_of_tail(network, whole, 0, 1);
  const Result<GeometryFamily>& first = families.family_from(0, tail);
  tail.pass_input = tail.pass_input + Vec3::cube(8);
  EXPECT_EQ(&families.family_from(0, tail), &first);
  tail.S = 2;
  EXPECT_NE(&families.family_from(0, tail), &first);
}

}  // namespace
}  // namespace znni
