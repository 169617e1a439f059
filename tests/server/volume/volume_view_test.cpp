#include "server/volume/volume_view.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(VolumeView, StridesFollowTheOrder) {
  const VolumeShape channels{2, {3, 5, 7}, ElementType::u16, VolumeOrder::channel_major};
  EXPECT_EQ(channel_stride(channels), 3 * 5 * 7);
  EXPECT_EQ(plane_stride(channels), 5 * 7);
  const VolumeShape planes{2, {3, 5, 7}, ElementType::u16, VolumeOrder::plane_major};
  EXPECT_EQ(channel_stride(planes), 5 * 7);
  EXPECT_EQ(plane_stride(planes), 2 * 5 * 7);
}

TEST(VolumeView, BytesCountElementsAndSaturate) {
  EXPECT_EQ(volume_bytes({2, {3, 5, 7}, ElementType::u16, VolumeOrder::plane_major}), 2 * 3 * 5 * 7 * 2);
  EXPECT_EQ(volume_bytes({1, {3, 5, 7}, ElementType::u8, VolumeOrder::channel_major}), 3 * 5 * 7);
  EXPECT_EQ(volume_bytes({1, Vec3::cube(std::int64_t{1} << 31)}), saturated);
}

}  // namespace
}  // namespace znni
