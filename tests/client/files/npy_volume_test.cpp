#include "client/files/npy_volume.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "tests/client/numbers.hpp"
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

// Writes a file as numpy.save() does.
void save(const std::string& path, const std::string& descr, const VolumeFacts& facts,
          const std::vector<std::byte>& voxels) {
  const std::string channels = facts.channels > 1 ? std::to_string(facts.channels) + ", " : "";
  const std::string text = "{'descr': " + descr + ", 'fortran_order': False, 'shape': (" + channels +
                           std::to_string(facts.n.z) + ", " + std::to_string(facts.n.y) + ", " +
                           std::to_string(facts.n.x) + "), }\n";
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(text.size()) << '\0' << text;
  file.write(reinterpret_cast<const char*>(voxels.data()), std::ssize(voxels));
}

TEST(NpyVolume, NumbersOfAllTypesInEitherByteOrder) {
  const Scratch scratch;
  std::mt19937 random(11);
  const FileName name{scratch.file("volume.npy"), ""};
  for (int i = 0; i < 6; ++i) {
    for (const VoxelType type : all_types) {
      const NumberVolume volume = random_numbers(type, random, 1 + i % 3);
      static constexpr std::array kinds = {'u', 'i', 'f'};
      const std::string code = kinds[static_cast<std::size_t>(kind_of(type))] + std::to_string(voxel_bytes(type));
      save(name.path, "'<" + code + "'", volume.facts, volume.bytes);
      expect_numbers(name, volume);
      save(name.path, "'>" + code + "'", volume.facts, in_other_order(volume));
      expect_numbers(name, volume);
    }
  }
}

TEST(NpyVolume, TruthValuesAreBytes) {
  const Scratch scratch;
  const FileName name{scratch.file("mask.npy"), ""};
  const NumberVolume volume{{1, {1, 2, 2}, VoxelType::u8}, {std::byte{0}, std::byte{1}, std::byte{1}, std::byte{0}}};
  save(name.path, "'|b1'", volume.facts, volume.bytes);
  expect_numbers(name, volume);
}

TEST(NpyVolume, WhatAreNoSuchNumbersIsRefusedWithItsDescr) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.npy"), ""};
  for (const std::string descr : {"'<c8'", "'<f16'", "'|S3'", "'<U4'", "'|O'", "'<M8[ns]'", "'|V2'", "'<u3'", "'?i4'",
                                  "[('a', '<f4'), ('b', '<u1')]"}) {
    save(name.path, descr, {1, {2, 3, 4}}, std::vector<std::byte>(2000));
    const Result<VolumeSource> source = open_source(name);
    ASSERT_FALSE(source) << descr;
    EXPECT_EQ(source.error().code, ErrorCode::unsupported);
    EXPECT_EQ(source.error().message, name.path + ": descr: " + descr +
                                          " found, expected whole numbers of 8 to 64 bits or real numbers of 16, 32 "
                                          "or 64");
  }
}

// A hostile header ends anywhere.
TEST(NpyVolume, AHeaderWithoutADescrIsRefused) {
  const Scratch scratch;
  const FileName name{scratch.file("volume.npy"), ""};
  for (const std::string header :
       {"'fortran_order': False", "'fortran_order': False, 'descr': ", "'fortran_order': False, 'descr': '",
        "'fortran_order': False, 'descr': [", "'fortran_order': False, 'descr': '<f4"}) {
    std::ofstream(name.path, std::ios::binary)
        << std::string("\x93NUMPY\x01\x00", 8) << static_cast<char>(header.size()) << '\0' << header;
    EXPECT_FALSE(open_source(name)) << header;
  }
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
