#include "server/train/samples/patch_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/server/train/volumes.hpp"

namespace znni {
namespace {

using client::Scratch;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr Vec3 n{3, 4, 5};

TEST(TrainPatchReader, BoxesFromTheFileAreThoseFromMemory) {
  const Scratch scratch;
  for (const char* ending : {".npy", ".h5:/raw"}) {
    const std::string name = scratch.file(std::string("raw") + ending);
    const std::vector<std::uint16_t> voxels = test::some_voxels<std::uint16_t>(120, 60000);
    test::write_volume(name, n, voxels);
    VolumeMemory none;
    VolumeMemory all{true, 1000, 0};
    const Result<PatchReader> from_file = PatchReader::open(name, none);
    const Result<PatchReader> from_memory = PatchReader::open(name, all);
    ASSERT_TRUE(from_file && from_memory);
    EXPECT_EQ(none.bytes, name.ends_with(".npy") ? 0 : 80) << "the chunks of a plane";
    EXPECT_EQ(all.bytes, 240);
    const client::Box box{{1, 0, 2}, {3, 3, 4}};
    const Result<std::vector<float>> read = read_input(*from_file, box, 2, 1);
    ASSERT_TRUE(read);
    ASSERT_EQ(read->size(), 24U);
    std::size_t at = 0;
    for (std::size_t channel = 0; channel < 2; ++channel) {
      for (std::size_t z = 1; z < 3; ++z) {
        for (std::size_t y = 0; y < 3; ++y) {
          for (std::size_t x = 2; x < 4; ++x) {
            EXPECT_EQ((*read)[at++], 2 * static_cast<float>(voxels[((channel * 3 + z) * 4 + y) * 5 + x]) + 1);
          }
        }
      }
    }
    EXPECT_EQ(*read_input(*from_memory, box, 2, 1), *read);
  }
}

// The bytes are those of two channels of 3 x 4 x 5 voxels, in a file of 8 bytes for each or of the type that is read.
TEST(TrainPatchReader, WhileABoxIsReadThereIsAPlaneOfItBesides) {
  const Scratch scratch;
  const std::string doubles = scratch.file("doubles.npy");
  const std::string bytes = scratch.file("bytes.npy");
  test::write_volume(doubles, n, std::vector<double>(120, 0.5));
  test::write_volume(bytes, n, std::vector<std::uint8_t>(120, 1));
  VolumeMemory none;
  EXPECT_EQ(PatchReader::open(doubles, none)->bytes_beside({3, 4, 5}), 2 * 20 * (4 + 8));
  EXPECT_EQ(PatchReader::open(doubles, none)->bytes_beside({2, 3, 2}), 2 * 6 * (4 + 8));
  EXPECT_EQ(PatchReader::open(bytes, none)->bytes_beside({3, 4, 5}), 2 * 20);
  VolumeMemory all{true, 1000, 0};
  EXPECT_EQ(PatchReader::open(doubles, all)->bytes_beside({3, 4, 5}), 0);
}

// Numbers that the daemon does not take are kept as it gets them.
TEST(TrainPatchReader, InputsOfOtherTypesAreFloat32) {
  const Scratch scratch;
  const std::string name = scratch.file("raw.npy");
  std::vector<std::int64_t> voxels = test::some_voxels<std::int64_t>(60, 70000);
  for (std::size_t i = 0; i < voxels.size(); i += 2) voxels[i] = -voxels[i];
  test::write_volume(name, n, voxels);
  for (const bool keeps : {false, true}) {
    VolumeMemory memory{keeps, 1000, 0};
    const Result<PatchReader> reader = PatchReader::open(name, memory);
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->facts().type, client::VoxelType::f32);
    EXPECT_EQ(memory.bytes, keeps ? 240 : 0);
    const Result<std::vector<float>> read = read_input(*reader, {{}, n}, 0.5F, -3);
    ASSERT_TRUE(read);
    for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ((*read)[i], static_cast<float>(voxels[i]) / 2 - 3);
  }
  voxels[41] = 16777217;
  test::write_volume(name, n, voxels);
  VolumeMemory memory;
  EXPECT_THAT(read_input(*PatchReader::open(name, memory), {{}, n}, 1, 0).error().message,
              testing::StartsWith(name + ": voxel 16777217 of type int64 found, expected 16777216 at most"));
}

TEST(TrainPatchReader, WhatDoesNotFitInMemoryIsRefused) {
  const Scratch scratch;
  const std::string name = scratch.file("raw.npy");
  test::write_volume(name, n, test::some_voxels<std::uint8_t>(60, 200));
  VolumeMemory memory{true, 100, 0};
  ASSERT_TRUE(PatchReader::open(name, memory));
  const Result<PatchReader> second = PatchReader::open(name, memory);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::over_budget);
  EXPECT_EQ(
      second.error().message,
      name + ": takes 60 bytes beside 60 of other volumes, and 100 may be used for all; read patches from the files");
  EXPECT_EQ(memory.bytes, 60);
}

template <class Label>
void expect_labels(const std::string& name) {
  const std::uint64_t most = std::numeric_limits<Label>::max();
  test::write_volume(name, {1, 1, 2}, std::vector<Label>{7, static_cast<Label>(most)});
  VolumeMemory memory;
  const Result<PatchReader> labels = PatchReader::open_labels(name, memory);
  ASSERT_TRUE(labels) << labels.error().message;
  EXPECT_THAT(*read_labels(*labels, {{}, {1, 1, 2}}), ElementsAre(7, most));
}

TEST(TrainPatchReader, LabelsAreWholeNumbersOfOneChannel) {
  const Scratch scratch;
  expect_labels<std::uint8_t>(scratch.file("1.npy"));
  expect_labels<std::uint16_t>(scratch.file("2.npy"));
  expect_labels<std::uint32_t>(scratch.file("4.npy"));
  expect_labels<std::uint64_t>(scratch.file("8.npy"));
  VolumeMemory memory;
  const std::string signs = scratch.file("signs.npy");
  test::write_volume(signs, n, test::some_voxels<std::int32_t>(60, 9));
  EXPECT_THAT(PatchReader::open_labels(signs, memory).error().message, HasSubstr("voxel type int32 is not read"));
  const std::string real = scratch.file("real.npy");
  test::write_volume(real, n, test::some_voxels<float>(60, 9));
  EXPECT_THAT(PatchReader::open_labels(real, memory).error().message, HasSubstr("voxel type float32 is not read"));
  const std::string two = scratch.file("two.npy");
  test::write_volume(two, n, test::some_voxels<std::uint8_t>(120, 9));
  EXPECT_EQ(PatchReader::open_labels(two, memory).error().message, two + ": has 2 channels; labels have one");
}

TEST(TrainPatchReader, VoxelsThatAreNoNumbersAreRefused) {
  const Scratch scratch;
  const std::string name = scratch.file("raw.npy");
  std::vector<float> voxels = test::some_voxels<float>(60, 9);
  voxels[59] = std::nanf("");
  test::write_volume(name, n, voxels);
  VolumeMemory memory;
  const Result<PatchReader> reader = PatchReader::open(name, memory);
  ASSERT_TRUE(reader);
  EXPECT_TRUE(read_input(*reader, {{}, {2, 4, 5}}, 1, 0));
  EXPECT_THAT(read_input(*reader, {{}, n}, 1, 0).error().message, testing::StartsWith(name + ": a voxel of "));
}

}  // namespace
}  // namespace znni
