#include "client/cli/tiff_volume.hpp"

#include <fstream>

#include "tests/client/scratch.hpp"

namespace znni::client {
namespace {

TEST(TiffVolume, RoundTrip) {
  const Scratch scratch;
  for (const VoxelType type : {VoxelType::u8, VoxelType::u16, VoxelType::f32}) {
    const VolumeFacts facts{1, {5, 6, 9}, type};
    const FileName name{scratch.file("volume_" + numpy_name(type) + ".tif"), ""};
    write_volume(name, facts);
    expect_volume(name, facts);
  }
}

TEST(TiffVolume, UnfinishedIsNotThere) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.tif"), ""};
  const VolumeFacts facts{1, {4, 3, 5}, VoxelType::u8};
  Result<VolumeTarget> target = open_target(name, facts, 0);
  ASSERT_TRUE(target);
  write_planes(*target, facts, 0, 2);
  ASSERT_TRUE(target->flush());
  EXPECT_FALSE(output_exists(name));
}

TEST(TiffVolume, GoesOnWhereItStopped) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.tif"), ""};
  const VolumeFacts facts{1, {7, 4, 6}, VoxelType::u16};
  {
    Result<VolumeTarget> first = open_target(name, facts, 0);
    ASSERT_TRUE(first);
    write_planes(*first, facts, 0, 3);
    ASSERT_TRUE(first->flush());
  }
  Result<VolumeTarget> second = open_target(name, facts, 3);
  ASSERT_TRUE(second);
  write_planes(*second, facts, 3, 7);
  ASSERT_TRUE(second->finish());
  expect_volume(name, facts);
}

TEST(TiffVolume, FileCutShortIsRefusedInWords) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.tif"), ""};
  const VolumeFacts facts{1, {6, 40, 40}, VoxelType::f32};
  write_volume(name, facts);
  std::filesystem::resize_file(name.path, std::filesystem::file_size(name.path) / 2);
  Result<VolumeSource> source = open_source(name);
  std::string message = source ? "" : source.error().message;
  if (source) {  // damage may show only where it lies
    std::vector<std::byte> plane(40 * 40 * 4);
    for (std::int64_t z = 0; z < source->facts.n.z && message.empty(); ++z) {
      const Result<void> read = source->read_plane(z, {{0, 0, 0}, facts.n}, plane);
      if (!read) message = read.error().message;
    }
    if (message.empty() && source->facts.n.z < facts.n.z) message = name.path + " lost pages";
  }
  EXPECT_NE(message.find(name.path), std::string::npos) << message;
}

// A killed run has written more pages than it recorded; they must not stay before the new ones.
TEST(TiffVolume, SurplusPagesAreWrittenAgain) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.tif"), ""};
  const VolumeFacts facts{1, {7, 4, 6}, VoxelType::u16};
  {
    Result<VolumeTarget> killed = open_target(name, facts, 0);
    ASSERT_TRUE(killed);
    write_planes(*killed, facts, 0, 5);
  }
  Result<VolumeTarget> second = open_target(name, facts, 3);
  ASSERT_TRUE(second) << second.error().message;
  write_planes(*second, facts, 3, 7);
  ASSERT_TRUE(second->finish());
  expect_volume(name, facts);
}

TEST(TiffVolume, WhatTiffCannotHoldIsRefused) {
  const Scratch scratch;
  const FileName name{scratch.file("out.tif"), ""};
  EXPECT_EQ(open_target(name, {1, {2, 2, 2}, VoxelType::f16}, 0).error().code, ErrorCode::unsupported);
  EXPECT_EQ(open_target(name, {2, {2, 2, 2}, VoxelType::f32}, 0).error().code, ErrorCode::unsupported);
}

TEST(TiffVolume, GarbageIsRefused) {
  const Scratch scratch;
  const std::string path = scratch.file("garbage.tif");
  std::ofstream(path) << "this is no volume at all, but long enough to look at";
  const Result<VolumeSource> source = open_source({path, ""});
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, ErrorCode::corrupt_file);
}

}  // namespace
}  // namespace znni::client
