#include "planner/search/search_family.hpp"

#include <gtest/gtest.h>

#include "planner/plan/pairs.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

void expect_same(const NetworkUse& found, const NetworkUse& wanted) {
  EXPECT_EQ(found.inputs, wanted.inputs);
  EXPECT_EQ(found.uses, wanted.uses);
  EXPECT_EQ(found.live_through, wanted.live_through);
  EXPECT_EQ(found.read_on, wanted.read_on);
  EXPECT_EQ(found.live_after, wanted.live_after);
  EXPECT_EQ(found.readers, wanted.readers);
}

GeometryChoice choice_for(const Network& network, bool streamed) {
  const std::vector<PoolingMode> modes(pooling_nodes(network).size(), PoolMode::fragments);
  GeometryChoice choice{Vec3::cube(legal_extents(network, modes, 2, 20).front()), 1, modes};
  choice.streamed = streamed;
  if (streamed) choice.pass_input.z = 8;
  return choice;
}

class PlannerSearchFamily : public testing::TestWithParam<bool> {
 protected:
  // Returns a geometry of the family, `more` voxels longer along y and x than the shortest.
  [[nodiscard]] Geometry longer_by(std::int64_t more) const {
    return family_.geometries()->at(choice_.pass_input + Vec3{0, more, more}).value();
  }

  Network network_ = drawn::chain();  // conv pool conv relu conv
  GeometryChoice choice_ = choice_for(network_, GetParam());
  SearchFamily family_{network_, choice_};
};

TEST_P(PlannerSearchFamily, UsesValuesAsEachOfItsGeometriesDoes) {
  for (const std::int64_t more : {0, 2, 4}) expect_same(family_.use(), network_use(network_, longer_by(more)));
}

TEST_P(PlannerSearchFamily, UsesValuesInPairsAsEachOfItsGeometriesDoes) {
  for (const std::vector<bool>& absent : subsets_of({1}, 6)) {
    const Network searched = searched_in_pairs(network_, absent);
    for (const std::int64_t more : {0, 2, 4}) {
      expect_same(family_.use_in_pairs(absent),
                  network_use(searched, searched_in_pairs(network_, longer_by(more), absent), absent));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Apart, PlannerSearchFamily, testing::Values(false));
INSTANTIATE_TEST_SUITE_P(Streamed, PlannerSearchFamily, testing::Values(true));

}  // namespace
}  // namespace znni
