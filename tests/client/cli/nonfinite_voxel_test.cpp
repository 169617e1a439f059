#include "client/cli/nonfinite_voxel.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace znni::client {
namespace {

const Box box{{0, 10, 20}, {0, 13, 24}};

TEST(NonfiniteVoxel, IsFoundAtItsPositionInTheFile) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    for (std::size_t at = 0; at < 24; ++at) {
      std::vector<float> plane(24, 3.0F);  // two channels of 3 x 4
      plane[at] = value;
      plane.back() = value;
      const auto found = find_nonfinite(std::as_bytes(std::span(plane)), VoxelType::f32, 7, box);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->channel, static_cast<std::int64_t>(at / 12));
      EXPECT_EQ(found->at,
                Vec3(7, 10 + static_cast<std::int64_t>(at % 12 / 4), 20 + static_cast<std::int64_t>(at % 4)));
    }
  }
}

TEST(NonfiniteVoxel, HalvesAreLookedThroughToo) {
  std::vector<std::uint16_t> plane(24, 0x7bff);  // the largest
  EXPECT_FALSE(find_nonfinite(std::as_bytes(std::span(plane)), VoxelType::f16, 7, box));
  plane[17] = 0xfc00;
  plane[23] = 0x7e00;
  const auto found = find_nonfinite(std::as_bytes(std::span(plane)), VoxelType::f16, 7, box);
  ASSERT_TRUE(found);
  EXPECT_EQ(to_string(*found), "channel 1, z 7, y 11, x 21 (-inf)");
}

TEST(NonfiniteVoxel, FiniteVoxelsAndWholeNumbersHaveNone) {
  std::vector<float> plane(24, std::numeric_limits<float>::max());
  EXPECT_FALSE(find_nonfinite(std::as_bytes(std::span(plane)), VoxelType::f32, 0, box));
  plane.assign(24, std::numeric_limits<float>::quiet_NaN());
  EXPECT_FALSE(find_nonfinite(std::as_bytes(std::span(plane)), VoxelType::u8, 0, box));
}

TEST(NonfiniteVoxel, IsToldInWords) {
  EXPECT_EQ(to_string(NonfiniteVoxel{1, {2, 3, 4}, std::numeric_limits<float>::infinity()}),
            "channel 1, z 2, y 3, x 4 (inf)");
}

}  // namespace
}  // namespace znni::client
