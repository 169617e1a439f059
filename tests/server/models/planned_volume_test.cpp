#include "server/models/planned_volume.hpp"

#include <gtest/gtest.h>

#include "tests/server/pipeline/random_network.hpp"

namespace znni {
namespace {

TEST(PlannedVolume, IsTheInputOrWithPaddingTheOutput) {
  const Network network = test::simple_network(1);
  const Vec3 lost = lost_extent(network) - Vec3::cube(1);
  ASSERT_NE(lost, Vec3{});
  EXPECT_EQ(PlannedVolume().input_of(network), std::nullopt);
  EXPECT_EQ(PlannedVolume({Vec3{30, 40, 50}, false}).input_of(network), (Vec3{30, 40, 50}));
  EXPECT_EQ(PlannedVolume({Vec3{30, 40, 50}, true}).input_of(network), (Vec3{30, 40, 50} + lost));
}

}  // namespace
}  // namespace znni
