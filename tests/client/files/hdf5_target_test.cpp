#include "client/files/hdf5_target.hpp"

#include <csignal>
#include <filesystem>

#include "client/files/hdf5_volume.hpp"
#include "tests/client/volume_file.hpp"

namespace znni::client {
namespace {

TEST(Hdf5Target, UnfinishedIsNotThereAndGoesOn) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.h5"), "/prob"};
  const VolumeFacts facts{2, {7, 4, 6}, VoxelType::f32};
  write_unfinished(name, facts, 3);
  EXPECT_FALSE(output_exists(name));
  Result<VolumeTarget> second = open_target(name, facts, 3);
  ASSERT_TRUE(second);
  write_planes(*second, facts, 3, 7);
  ASSERT_TRUE(second->finish());
  EXPECT_TRUE(output_exists(name));
  expect_volume(name, facts);
}

TEST(Hdf5Target, InParts) {
  const Scratch scratch;
  expect_written_in_parts({scratch.file("volume.h5"), "/prob"}, {1, {5, 6, 9}, VoxelType::u8});
  expect_written_in_parts({scratch.file("volume.h5"), "/images"}, {3, {4, 300, 520}, VoxelType::f32});
}

// There are many chunks, so that the library would write parts of a growing index at times of its own choosing.
TEST(Hdf5Target, WhatWasFlushedInPartsOutlivesAKill) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.h5"), "/prob"};
  const VolumeFacts facts{1, {30000, 1, 4 * 256}, VoxelType::u8};
  const Parts parts{facts.n, {facts.n.z, 1, 256}};
  const auto killed = [&] {
    Result<VolumeTarget> target = open_target_in_parts(name, facts, false);
    write_part(*target, facts, parts.box(0), 0, facts.n.z);
    EXPECT_TRUE(target->flush());
    write_part(*target, facts, parts.box(1), 0, facts.n.z - 1);
    std::raise(SIGKILL);
  };
  EXPECT_EXIT(killed(), testing::KilledBySignal(SIGKILL), "");
  Result<VolumeTarget> target = open_target_in_parts(name, facts, true);
  ASSERT_TRUE(target) << target.error().message;
  for (std::int64_t part = 1; part < parts.count(); ++part) write_part(*target, facts, parts.box(part), 0, facts.n.z);
  ASSERT_TRUE(target->finish());
  expect_volume(name, facts);
}

TEST(Hdf5Target, AllRoomIsTakenAtTheBegin) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.h5"), "/prob"};
  const VolumeFacts facts{2, {40, 300, 520}, VoxelType::f32};
  const Result<VolumeTarget> target = open_target_in_parts(name, facts, false);
  ASSERT_TRUE(target);
  const auto begun = std::filesystem::file_size(name.path);
  EXPECT_GE(begun, static_cast<std::uintmax_t>(2 * voxels(facts.n) * 4));
  write_part(*target, facts, {{0, 0, 0}, {40, 150, 520}}, 0, 40);
  ASSERT_TRUE(target->flush());
  EXPECT_EQ(std::filesystem::file_size(name.path), begun) << "and its index is as it was";
}

// The kill comes between two records of a wide output.
TEST(Hdf5Target, WhatWasFlushedOutlivesAKill) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.h5"), "/prob"};
  const VolumeFacts facts{1, {96, 1, 1024 * 256}, VoxelType::u8};
  const auto killed = [&] {
    Result<VolumeTarget> target = open_target(name, facts, 0);
    write_planes(*target, facts, 0, 64);
    EXPECT_TRUE(target->flush());
    write_planes(*target, facts, 64, 95);
    std::raise(SIGKILL);
  };
  EXPECT_EXIT(killed(), testing::KilledBySignal(SIGKILL), "");
  Result<VolumeTarget> target = open_target(name, facts, 64);
  ASSERT_TRUE(target) << target.error().message;
  write_planes(*target, facts, 64, 96);
  ASSERT_TRUE(target->finish());
  expect_volume(name, facts);
}

TEST(Hdf5Target, FinishingReplacesAnOlderOutput) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.h5"), "/prob"};
  write_volume(name, {1, {2, 2, 2}, VoxelType::u8});
  const VolumeFacts facts{1, {3, 4, 5}, VoxelType::u16};
  write_volume(name, facts);
  expect_volume(name, facts);
}

// finish() would delete the group with all datasets in it.
TEST(Hdf5Target, AGroupIsNotReplaced) {
  const Scratch scratch;
  const std::string path = scratch.file("volume.h5");
  const VolumeFacts facts{1, {3, 4, 5}, VoxelType::u8};
  write_volume({path, "/scans/raw"}, facts);
  const Result<VolumeTarget> target = open_target({path, "/scans"}, facts, 0);
  if (target) {
    ASSERT_TRUE(target->finish());
  }
  EXPECT_FALSE(target);
  expect_volume({path, "/scans/raw"}, facts);
}

TEST(Hdf5Target, PartialOfOtherExtentsIsNotContinued) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.h5"), "/prob"};
  ASSERT_TRUE(open_target(name, {1, {7, 4, 6}, VoxelType::f32}, 0));
  EXPECT_FALSE(open_target(name, {1, {7, 5, 6}, VoxelType::f32}, 3));
}

TEST(Hdf5Target, HalfFloatsTakeTwoBytes) {
  const Scratch scratch;
  const FileName name{scratch.file("half.h5"), "/prob"};
  const VolumeFacts facts{1, {2, 3, 4}, VoxelType::f16};
  write_volume(name, facts);
  EXPECT_TRUE(output_exists(name));
  EXPECT_EQ(hdf5_dataset_bytes(name), 2 * 3 * 4 * 2);
  expect_volume(name, facts);
}

TEST(Hdf5Target, OutputNeedsADataset) {
  const Scratch scratch;
  const Result<VolumeTarget> target = open_target({scratch.file("out.h5"), ""}, {1, {2, 2, 2}, VoxelType::f32}, 0);
  ASSERT_FALSE(target);
  EXPECT_NE(target.error().message.find(":/NAME"), std::string::npos);
}

}  // namespace
}  // namespace znni::client
