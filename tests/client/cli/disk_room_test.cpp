#include "client/cli/disk_room.hpp"

#include "tests/client/scratch.hpp"

namespace znni::client {
namespace {

const VolumeFacts facts{1, {6, 30, 40}, VoxelType::f32};
constexpr std::int64_t whole_bytes = 6 * 30 * 40 * 4;
const Parts one{facts.n, facts.n};
const Parts four{facts.n, {6, 20, 25}};

SpaceOf space(std::int64_t total, std::int64_t free) {
  return [=](const std::string&) { return DiskSpace{total, free}; };
}

TEST(DiskRoom, OfAnOutputThatGoesOnTheRestIsMissing) {
  const FileName npy{"out.npy", ""};
  EXPECT_EQ(bytes_missing(npy, {facts, one}), whole_bytes);
  EXPECT_EQ(bytes_missing(npy, {facts, one, 0, 2}), whole_bytes / 6 * 4);
  EXPECT_EQ(bytes_missing(npy, {facts, four, 1, 0}), whole_bytes - 6 * 20 * 25 * 4);
  EXPECT_EQ(bytes_missing(npy, {facts, four, 1, 3}), whole_bytes - 6 * 20 * 25 * 4 - 3 * 20 * 15 * 4);
  EXPECT_EQ(bytes_missing(npy, {facts, four, 4, 0}), 0);
}

TEST(DiskRoom, ATiffInPartsIsCopiedAtItsEnd) {
  const FileName tiff{"out.tif", ""};
  EXPECT_EQ(bytes_missing(tiff, {facts, one}), whole_bytes);
  EXPECT_EQ(bytes_missing(tiff, {facts, four}), 2 * whole_bytes);
  EXPECT_EQ(bytes_missing(tiff, {facts, four, 4, 0}), whole_bytes);
}

TEST(DiskRoom, Hdf5HasWholeChunks) {
  const VolumeFacts wide{2, {3, 300, 10}, VoxelType::u8};
  EXPECT_EQ(bytes_missing({"out.h5", "/prob"}, {wide, {wide.n, wide.n}}), 2 * 3 * 300 * 10);
  const Scratch scratch;
  const FileName name{scratch.file("out.h5"), "/prob"};
  write_volume(name, wide);
  EXPECT_GE(std::filesystem::file_size(name.path), 2U * 3 * 300 * 10);
}

// 257 rows are two chunks of 129.
TEST(DiskRoom, Hdf5OfManyChunksIsRoundedUp) {
  const VolumeFacts wide{1, {3, 257, 10}, VoxelType::u8};
  EXPECT_EQ(bytes_missing({"out.h5", "/prob"}, {wide, {wide.n, wide.n}}), 3 * 258 * 10);
}

// Twice, because it is copied at the end.
TEST(DiskRoom, OfWhatIsCompressedTheLeastIsNeeded) {
  const VolumeFacts even{1, {64, 64, 129}, VoxelType::u8};
  const FileName packed{"/data/out.h5", "/prob", true};
  const OutputShare share{even, {even.n, even.n}};
  EXPECT_EQ(bytes_missing(packed, share), 2 * 512);
  EXPECT_TRUE(check_room(packed, share, space(1 << 20, 1024)));
  const Result<void> refused = check_room(packed, share, space(1 << 20, 1023));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("needs 1024 bytes (1.00 KiB) at least, and 1023 "), std::string::npos)
      << refused.error().message;
}

TEST(DiskRoom, WhatMayHardlyCompressIsWarnedOf) {
  const FileName packed{"/data/out.h5", "/prob", true};
  const OutputShare share{facts, one};
  EXPECT_EQ(room_warning(packed, share, space(1 << 20, 2 * whole_bytes)), "");
  EXPECT_NE(
      room_warning(packed, share, space(1 << 20, 2 * whole_bytes - 1)).find("/data/out.h5:/prob: may need up to "),
      std::string::npos);
  EXPECT_NE(room_warning(packed, {facts, one, 0, 3}, space(1 << 20, whole_bytes)), "");
  EXPECT_EQ(room_warning(packed, {facts, one, 0, 3}, space(1 << 20, whole_bytes + whole_bytes / 2)), "");
  EXPECT_EQ(room_warning({"out.npy", ""}, share, space(1 << 20, 0)), "") << "what does not fit is refused";
}

TEST(DiskRoom, TooLittleIsRefusedWithTheBytes) {
  const FileName npy{"/data/out.npy", ""};
  const OutputShare share{facts, one};
  EXPECT_TRUE(check_room(npy, share, space(1 << 20, whole_bytes)));
  const Result<void> refused = check_room(npy, share, space(1 << 20, whole_bytes - 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().message.find("/data/out.npy: needs 28800 bytes"), std::string::npos);
  EXPECT_NE(refused.error().message.find("28799"), std::string::npos) << refused.error().message;
}

TEST(DiskRoom, WhereTheSystemDoesNotTellNothingIsJudged) {
  const FileName npy{"out.npy", ""};
  EXPECT_TRUE(check_room(npy, {facts, one}, space(0, 0)));
  EXPECT_TRUE(check_room(npy, {facts, one}, [](const std::string&) { return std::nullopt; }));
}

// A file is truncated, or a dataset removed, before the new output is written.
TEST(DiskRoom, WhatBeginsAnewHasTheRoomOfThePartialOutput) {
  const Scratch scratch;
  for (const FileName& name : {FileName{scratch.file("out.npy"), ""}, FileName{scratch.file("out.h5"), "/prob"}}) {
    write_unfinished(name, facts, facts.n.z);
    const std::int64_t there = bytes_of_partial(name);
    EXPECT_GE(there, whole_bytes) << to_string(name);
    EXPECT_TRUE(check_room(name, {facts, one}, space(1 << 20, 0))) << to_string(name);
    EXPECT_FALSE(check_room(name, {facts, one, 0, 1}, space(1 << 20, 0))) << "what is there is kept";
  }
}

TEST(DiskRoom, AFileNotYetThereLiesWhereItsFolderDoes) {
  const Scratch scratch;
  const std::optional<DiskSpace> folder = disk_space(scratch.file("."));
  const std::optional<DiskSpace> file = disk_space(scratch.file("out.npy"));
  ASSERT_TRUE(folder && file);
  EXPECT_EQ(folder->total, file->total);
  EXPECT_GT(file->total, file->free);
  EXPECT_TRUE(disk_space("out.npy"));
  EXPECT_FALSE(disk_space("/no/such/folder/out.npy"));
}

}  // namespace
}  // namespace znni::client
