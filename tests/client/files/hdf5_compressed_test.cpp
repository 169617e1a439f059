#include "client/files/hdf5_compressed.hpp"

#include <hdf5.h>

#include <array>
#include <csignal>
#include <filesystem>

#include "tests/client/volume_file.hpp"

namespace znni::client {
namespace {

// Several chunks along every axis.
constexpr Vec3 wide{70, 65, 130};

FileName packed_name(const Scratch& scratch) { return {scratch.file("volume.h5"), "/prob", true}; }

TEST(Hdf5Compressed, RoundTrip) {
  const Scratch scratch;
  for (const VoxelType type : {VoxelType::u8, VoxelType::u16, VoxelType::f32}) {
    for (const std::int64_t channels : {1, 3}) {
      const VolumeFacts facts{channels, channels == 1 ? wide : Vec3{5, 6, 9}, type};
      const FileName name{scratch.file("volume.h5"), "/group/" + numpy_name(type) + std::to_string(channels), true};
      write_volume(name, facts);
      expect_volume(name, facts);
      EXPECT_FALSE(output_exists(partial_name(name)));
    }
  }
}

TEST(Hdf5Compressed, ChunksAreSmallAndPacked) {
  const Scratch scratch;
  const FileName name = packed_name(scratch);
  const VolumeFacts facts{1, wide, VoxelType::u8};
  write_volume(name, facts);
  EXPECT_LT(std::filesystem::file_size(name.path), static_cast<std::uintmax_t>(voxels(wide) / 2));
  const hid_t file = H5Fopen(name.path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, "/prob", H5P_DEFAULT);
  const hid_t creation = H5Dget_create_plist(dataset);
  std::array<hsize_t, 3> chunk{};
  EXPECT_EQ(H5Pget_chunk(creation, 3, chunk.data()), 3);
  EXPECT_EQ(chunk, (std::array<hsize_t, 3>{35, 33, 44}));
  ASSERT_EQ(H5Pget_nfilters(creation), 2);
  const auto filter = [&](unsigned i) {
    unsigned flags = 0;
    std::size_t none = 0;
    return H5Pget_filter2(creation, i, &flags, &none, nullptr, 0, nullptr, nullptr);
  };
  EXPECT_EQ(filter(0), H5Z_FILTER_SHUFFLE);
  EXPECT_EQ(filter(1), H5Z_FILTER_DEFLATE);
  H5Pclose(creation);
  H5Dclose(dataset);
  H5Fclose(file);
}

TEST(Hdf5Compressed, InParts) {
  const Scratch scratch;
  expect_written_in_parts(packed_name(scratch), {1, {5, 6, 9}, VoxelType::u8});
  expect_written_in_parts({scratch.file("volume.h5"), "/images", true}, {2, {67, 90, 150}, VoxelType::f32});
}

TEST(Hdf5Compressed, UnfinishedIsNotThereAndGoesOn) {
  const Scratch scratch;
  const FileName name = packed_name(scratch);
  const VolumeFacts facts{2, wide, VoxelType::u16};
  write_unfinished(name, facts, 37);
  EXPECT_FALSE(output_exists(name));
  EXPECT_TRUE(output_exists(partial_name(name)));
  EXPECT_EQ(partial_name(name).path, name.path + ".prob.partial.pieces");
  Result<VolumeTarget> second = open_target(name, facts, 37);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->planes_at_once, 35);
  write_planes(*second, facts, 37, wide.z);
  ASSERT_TRUE(second->finish());
  expect_volume(name, facts);
}

// The kill comes after each number of planes in turn; what was flushed before it is gone on with.
TEST(Hdf5Compressed, WhatWasFlushedOutlivesAKill) {
  const VolumeFacts facts{1, {70, 5, 66}, VoxelType::f32};
  for (const std::int64_t flushed : {1, 34, 35, 36, 69, 70}) {
    const Scratch scratch;
    const FileName name = packed_name(scratch);
    const auto killed = [&] {
      const Result<VolumeTarget> target = open_target(name, facts, 0);
      write_planes(*target, facts, 0, flushed);
      EXPECT_TRUE(target->flush());
      write_planes(*target, facts, flushed, facts.n.z);
      std::raise(SIGKILL);
    };
    EXPECT_EXIT(killed(), testing::KilledBySignal(SIGKILL), "");
    Result<VolumeTarget> target = open_target(name, facts, flushed);
    ASSERT_TRUE(target) << target.error().message;
    write_planes(*target, facts, flushed, facts.n.z);
    ASSERT_TRUE(target->finish());
    expect_volume(name, facts);
  }
}

// While it is written nothing in the HDF5 file changes, so that no kill can harm its other datasets.
TEST(Hdf5Compressed, TheFileIsLeftAloneUntilTheEnd) {
  const Scratch scratch;
  const FileName name = packed_name(scratch);
  const VolumeFacts other{1, {3, 4, 5}, VoxelType::u8};
  write_volume({name.path, "/raw"}, other);
  const VolumeFacts facts{1, wide, VoxelType::f32};
  const auto text = [&] {
    std::ifstream file(name.path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const Result<VolumeTarget> target = open_target(name, facts, 0);
  ASSERT_TRUE(target);
  const std::string begun = text();
  write_planes(*target, facts, 0, facts.n.z);
  ASSERT_TRUE(target->flush());
  EXPECT_EQ(text(), begun);
  ASSERT_TRUE(target->finish());
  expect_volume(name, facts);
  expect_volume({name.path, "/raw"}, other);
}

TEST(Hdf5Compressed, AnInterruptedEndIsEndedLater) {
  const Scratch scratch;
  const FileName name = packed_name(scratch);
  const VolumeFacts facts{1, wide, VoxelType::f32};
  write_volume(name, {1, {2, 2, 2}, VoxelType::u8});
  {
    std::stop_source stop;
    const Result<VolumeTarget> target = open_target_in_parts(name, facts, false, stop.get_token());
    ASSERT_TRUE(target);
    write_planes(*target, facts, 0, facts.n.z);
    stop.request_stop();
    const Result<void> finished = target->finish();
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().code, ErrorCode::cancelled);
  }
  expect_volume(name, {1, {2, 2, 2}, VoxelType::u8});
  ASSERT_TRUE(open_target(name, facts, facts.n.z)->finish());
  expect_volume(name, facts);
}

TEST(Hdf5Compressed, ItAndAPlainOneReplaceEachOther) {
  const Scratch scratch;
  const VolumeFacts facts{1, {3, 4, 5}, VoxelType::u16};
  const FileName packed = packed_name(scratch);
  const FileName plain{packed.path, packed.dataset};
  write_unfinished(plain, facts, 1);
  write_volume(packed, facts);
  EXPECT_FALSE(output_exists(partial_name(plain)));
  write_unfinished(packed, facts, 1);
  write_volume(plain, {1, {2, 2, 2}, VoxelType::u8});
  EXPECT_FALSE(output_exists(partial_name(packed)));
  expect_volume(plain, {1, {2, 2, 2}, VoxelType::u8});
}

TEST(Hdf5Compressed, PlanesThatAreMissingAreTold) {
  const Scratch scratch;
  const FileName name = packed_name(scratch);
  const VolumeFacts facts{1, wide, VoxelType::u8};
  const Result<VolumeTarget> target = open_target(name, facts, 0);
  ASSERT_TRUE(target);
  write_planes(*target, facts, 0, 35);
  const Result<void> finished = target->finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().message, partial_name(name).path + ": has 6 of 12 chunks: start over with --overwrite");
}

TEST(Hdf5Compressed, PartialOfOtherExtentsIsNotContinued) {
  const Scratch scratch;
  const FileName name = packed_name(scratch);
  ASSERT_TRUE(open_target(name, {1, {7, 4, 6}, VoxelType::f32}, 0));
  EXPECT_FALSE(open_target(name, {1, {7, 5, 6}, VoxelType::f32}, 3));
  EXPECT_FALSE(open_target(name, {1, {7, 4, 6}, VoxelType::u8}, 3));
  EXPECT_TRUE(open_target(name, {1, {7, 4, 6}, VoxelType::f32}, 3));
}

TEST(Hdf5Compressed, DiscardingLeavesNothing) {
  const Scratch scratch;
  const FileName name = packed_name(scratch);
  const Result<VolumeTarget> target = open_target(name, {1, wide, VoxelType::u8}, 0);
  ASSERT_TRUE(target);
  target->discard();
  EXPECT_FALSE(std::filesystem::exists(name.path));
  EXPECT_FALSE(std::filesystem::exists(partial_name(name).path));
}

}  // namespace
}  // namespace znni::client
