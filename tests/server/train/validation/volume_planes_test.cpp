#include "server/train/validation/volume_planes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/train/volumes.hpp"

namespace znni {
namespace {

// Two channels of 4 x 2 x 3 voxels, each its own number.
class VolumePlanesTest : public testing::Test {
 protected:
  VolumePlanesTest() {
    std::vector<std::uint16_t> numbers;
    for (std::uint16_t i = 0; i < 48; ++i) numbers.push_back(i);
    test::write_volume(name_, {4, 2, 3}, numbers);
    VolumeMemory memory;
    reader_ = std::make_unique<PatchReader>(PatchReader::open(name_, memory).value());
  }

  client::Scratch scratch_;
  std::string name_ = scratch_.file("numbers.npy");
  std::unique_ptr<PatchReader> reader_;
  std::mutex reading_;
};

std::uint16_t first_voxel(const VolumePlanes& planes, std::int64_t channel, std::int64_t z) {
  std::uint16_t voxel = 0;
  std::memcpy(&voxel, planes.plane(channel, z), sizeof voxel);
  return voxel;
}

TEST_F(VolumePlanesTest, AreReadAsTheyAreWanted) {
  VolumePlanes planes(*reader_, reading_);
  EXPECT_EQ(planes.shape(), (VolumeShape{2, {4, 2, 3}, ElementType::u16, VolumeOrder::plane_major}));
  planes.want({0, 2});
  EXPECT_FALSE(planes.here());
  ASSERT_TRUE(planes.wait({}));
  EXPECT_TRUE(planes.here());
  const std::byte* const kept = planes.plane(1, 1);
  EXPECT_EQ(first_voxel(planes, 0, 0), 0);
  EXPECT_EQ(first_voxel(planes, 1, 0), 24);
  EXPECT_EQ(first_voxel(planes, 0, 1), 6);
  planes.want({1, 4});
  EXPECT_FALSE(planes.here());
  ASSERT_TRUE(planes.wait({}));
  EXPECT_EQ(planes.plane(1, 1), kept) << "it stays where it is";
  EXPECT_EQ(first_voxel(planes, 1, 3), 42);
}

TEST_F(VolumePlanesTest, AStopEndsReading) {
  VolumePlanes planes(*reader_, reading_);
  planes.want({0, 4});
  std::stop_source stop;
  stop.request_stop();
  const Result<void> stopped = planes.wait(stop.get_token());
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace znni
