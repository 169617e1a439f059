#include "server/volume/plane_source.hpp"

#include <gtest/gtest.h>

#include "tests/server/volume/random_volume.hpp"

namespace znni {
namespace {

TEST(PlaneSource, AWholeVolumeHasEveryPlaneInEitherOrder) {
  test::Random random(3);
  for (int i = 0; i < 4; ++i) {
    const test::RandomVolume volume = test::random_volume(3, {4, 2, 5}, ElementType::u16, random);
    WholeVolume source(volume.view());
    EXPECT_EQ(source.shape(), volume.shape);
    source.want({2, 4});
    EXPECT_TRUE(source.here());
    EXPECT_TRUE(source.wait({}));
    for (std::int64_t j = 0; j < 3; ++j) {
      for (std::int64_t z = 0; z < 4; ++z) {
        EXPECT_EQ(source.plane(j, z), volume.bytes.data() + 2 * test::voxel_index(volume.shape, j, {z, 0, 0}));
      }
    }
  }
}

}  // namespace
}  // namespace znni
