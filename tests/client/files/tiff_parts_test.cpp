#include "client/files/tiff_parts.hpp"

#include "tests/client/volume_file.hpp"

namespace znni::client {
namespace {

TEST(TiffParts, AStackIsMadeOfThemAtTheEnd) {
  const Scratch scratch;
  for (const VoxelType type : {VoxelType::u8, VoxelType::f32}) {
    const FileName name{scratch.file(numpy_name(type) + ".tif"), ""};
    expect_written_in_parts(name, {1, {5, 6, 9}, type});
    EXPECT_FALSE(std::filesystem::exists(partial_name(name).path));
    EXPECT_FALSE(std::filesystem::exists(name.path + ".new"));
  }
}

TEST(TiffParts, AnOlderStackIsReplacedWhenAllIsThere) {
  const Scratch scratch;
  const FileName name{scratch.file("out.tif"), ""};
  const VolumeFacts old{1, {2, 3, 4}, VoxelType::u8};
  write_volume(name, old);
  const VolumeFacts facts{1, {3, 4, 5}, VoxelType::u16};
  Result<VolumeTarget> target = open_target_in_parts(name, facts, false);
  ASSERT_TRUE(target);
  write_part(*target, facts, {{0, 0, 0}, facts.n}, 0, 3);
  expect_volume(name, old);
  ASSERT_TRUE(target->finish());
  expect_volume(name, facts);
}

TEST(TiffParts, AnEndThatFailsLeavesOnlyTheParts) {
  const Scratch scratch;
  const FileName name{scratch.file("out.tif"), ""};
  const VolumeFacts facts{1, {3, 4, 5}, VoxelType::u16};
  const auto expect_only_parts = [&] {
    EXPECT_TRUE(std::filesystem::exists(partial_name(name).path));
    EXPECT_FALSE(std::filesystem::exists(name.path + ".new"));
    EXPECT_FALSE(std::filesystem::exists(name.path + ".new.partial"));
  };
  std::stop_source stop;
  Result<VolumeTarget> stopped = open_target_in_parts(name, facts, false, stop.get_token());
  ASSERT_TRUE(stopped);
  write_part(*stopped, facts, {{0, 0, 0}, facts.n}, 0, 3);
  stop.request_stop();
  EXPECT_EQ(stopped->finish().error().code, ErrorCode::cancelled);
  expect_only_parts();
  std::filesystem::create_directories(name.path + "/in the way");
  Result<VolumeTarget> target = open_target_in_parts(name, facts, true);
  ASSERT_TRUE(target);
  EXPECT_EQ(target->finish().error().code, ErrorCode::device_failure);
  expect_only_parts();
  std::filesystem::remove_all(name.path);
  ASSERT_TRUE(target->finish());
  expect_volume(name, facts);
}

TEST(TiffParts, WhatTiffCannotHoldIsRefused) {
  const Scratch scratch;
  const FileName name{scratch.file("out.tif"), ""};
  EXPECT_EQ(open_target_in_parts(name, {1, {2, 2, 2}, VoxelType::f16}, false).error().code, ErrorCode::unsupported);
}

TEST(TiffParts, GoesOnWithNothingElse) {
  const Scratch scratch;
  const FileName name{scratch.file("out.tif"), ""};
  write_unfinished(name, {1, {4, 3, 5}, VoxelType::u8}, 2);  // page after page
  EXPECT_EQ(open_target_in_parts(name, {1, {4, 3, 5}, VoxelType::u8}, true).error().code, ErrorCode::corrupt_file);
}

}  // namespace
}  // namespace znni::client
