#include "client/cli/tiff_volume.hpp"

#include "tests/client/volume_file.hpp"

namespace znni::client {
namespace {

TEST(TiffVolume, RoundTrip) { expect_round_trip(".tif"); }

TEST(TiffVolume, UnfinishedIsNotThere) { expect_unfinished_is_not_there(".tif"); }

TEST(TiffVolume, GoesOnWhereItStopped) { expect_goes_on_where_it_stopped(".tif"); }

TEST(TiffVolume, FileCutShortIsRefusedInWords) { expect_cut_short_is_refused(".tif"); }

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

TEST(TiffVolume, GarbageIsRefused) { expect_garbage_is_refused(".tif"); }

}  // namespace
}  // namespace znni::client
