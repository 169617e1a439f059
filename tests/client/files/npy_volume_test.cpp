#include "client/files/npy_volume.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "tests/client/volume_file.hpp"

namespace znni::client {
namespace {

TEST(NpyVolume, RoundTrip) { expect_round_trip(".npy"); }

TEST(NpyVolume, UnfinishedIsNotThere) { expect_unfinished_is_not_there(".npy"); }

TEST(NpyVolume, GoesOnWhereItStopped) { expect_goes_on_where_it_stopped(".npy"); }

TEST(NpyVolume, FileCutShortIsRefusedInWords) { expect_cut_short_is_refused(".npy"); }

TEST(NpyVolume, SeveralImages) {
  const Scratch scratch;
  const FileName name{scratch.file("images.npy"), ""};
  const VolumeFacts facts{3, {4, 5, 6}, VoxelType::f32};
  write_volume(name, facts);
  expect_volume(name, facts);
}

TEST(NpyVolume, InParts) {
  const Scratch scratch;
  expect_written_in_parts({scratch.file("volume.npy"), ""}, {1, {5, 6, 9}, VoxelType::u8});
  expect_written_in_parts({scratch.file("images.npy"), ""}, {3, {5, 7, 8}, VoxelType::f32});
}

TEST(NpyVolume, PartialOfOtherExtentsIsNotContinued) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.npy"), ""};
  ASSERT_TRUE(open_target(name, {1, {7, 4, 6}, VoxelType::f32}, 0));
  EXPECT_EQ(open_target(name, {1, {7, 5, 6}, VoxelType::f32}, 3).error().code, ErrorCode::corrupt_file);
}

// The device accepts no bytes, like a full disk.
TEST(NpyVolume, AHeaderThatFindsNoRoomIsToldAtTheBegin) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.npy"), ""};
  std::filesystem::create_symlink("/dev/full", partial_name(name).path);
  const Result<VolumeTarget> target = open_target(name, {1, {2, 3, 4}, VoxelType::u8}, 0);
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().message, partial_name(name).path + ": cannot be written: " + std::strerror(ENOSPC));
}

TEST(NpyVolume, FortranOrderIsRefused) {
  const Scratch scratch;
  const std::string path = scratch.file("fortran.npy");
  std::string text = "{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1, 1), }\n";
  std::ofstream(path, std::ios::binary) << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(text.size()) << '\0'
                                        << text << "abcd";
  const Result<VolumeSource> source = open_source({path, ""});
  ASSERT_FALSE(source);
  EXPECT_NE(source.error().message.find("Fortran"), std::string::npos);
}

TEST(NpyVolume, GarbageIsRefused) { expect_garbage_is_refused(".npy"); }

TEST(NpyVolume, WhatIsNoneSaysHowToMakeOne) {
  const Scratch scratch;
  const std::string path = scratch.file("garbage.npy");
  std::ofstream(path) << "this is no volume at all, but long enough to look at";
  const Result<VolumeSource> source = open_source({path, ""});
  ASSERT_FALSE(source);
  EXPECT_NE(source.error().message.find("garbage.npy: is not a .npy file: save it with numpy.save()"),
            std::string::npos);
}

TEST(NpyVolume, AFileThatEndsWithinItsHeaderOrVoxelsIsToBeSavedAgain) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.npy"), ""};
  write_volume(name, {1, {2, 3, 4}, VoxelType::u8});
  const auto size = std::filesystem::file_size(name.path);
  for (const auto& [bytes, words] : {std::pair(size - 1, "23 of 24 bytes of voxels; copy or save it again"),
                                     std::pair(std::uintmax_t{40}, "ends within its header: it was not copied")}) {
    std::filesystem::resize_file(name.path, bytes);
    const Result<VolumeSource> source = open_source(name);
    ASSERT_FALSE(source);
    EXPECT_NE(source.error().message.find(words), std::string::npos) << source.error().message;
  }
}

}  // namespace
}  // namespace znni::client
