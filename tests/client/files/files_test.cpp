#include "client/files/files.hpp"

#include "tests/client/scratch.hpp"

namespace znni::client {
namespace {

TEST(FileNames, DatasetFollowsTheColon) {
  EXPECT_EQ(parse_file_name("vol.h5:/a/b").path, "vol.h5");
  EXPECT_EQ(parse_file_name("vol.h5:/a/b").dataset, "/a/b");
  EXPECT_EQ(parse_file_name("vol.npy").dataset, "");
  EXPECT_EQ(to_string(parse_file_name("vol.h5:/a/b")), "vol.h5:/a/b");
}

TEST(FileNames, PartialOutputsHaveAnotherName) {
  EXPECT_EQ(to_string(partial_name({"out.h5", "/prob"})), "out.h5:/prob.partial");
  EXPECT_EQ(to_string(partial_name({"out.npy", ""})), "out.npy.partial");
  EXPECT_EQ(to_string(partial_name({"out.h5", "/a/b", true})), "out.h5.a.b.partial.pieces");
}

TEST(FileNames, WhatTakesTheirPlaceHasAnotherMark) {
  const Scratch scratch;
  const VolumeFacts facts{1, {2, 3, 4}, VoxelType::u8};
  for (const FileName& name : {FileName{scratch.file("out.npy"), ""}, {scratch.file("out.h5"), "/prob"}}) {
    EXPECT_EQ(output_mark(name), "");
    write_volume(name, facts);
    const std::string mark = output_mark(name);
    EXPECT_NE(mark, "");
    write_unfinished(name, facts, 1);
    EXPECT_EQ(output_mark(name), mark);
    write_volume(name, facts);
    EXPECT_NE(output_mark(name), mark);
  }
}

TEST(FileNames, OnlyHdf5HasDatasets) {
  const Scratch scratch;
  const VolumeFacts facts{1, {2, 3, 4}, VoxelType::u8};
  for (const std::string ending : {".npy", ".tif"}) {
    const FileName name{scratch.file("volume" + ending), ""};
    write_volume(name, facts);
    const FileName inside{name.path, "/x"};
    const std::string words = name.path + ": '/x': " + ending + " files hold one array and take no dataset name";
    const Result<VolumeSource> source = open_source(inside);
    const Result<void> target = check_target(inside, facts);
    ASSERT_FALSE(source || target);
    EXPECT_EQ(source.error().message, words);
    EXPECT_EQ(target.error().message, words);
  }
}

TEST(FileNames, LabelsMayBeWide) {
  const Scratch scratch;
  for (const char* ending : {".npy", ".tif", ".h5:/labels"}) {
    for (const VoxelType type : {VoxelType::u8, VoxelType::u16, VoxelType::u32, VoxelType::u64}) {
      const VolumeFacts facts{1, {3, 5, 7}, type};
      const FileName name = parse_file_name(scratch.file(numpy_name(type) + ending));
      write_volume(name, facts);
      const Result<VolumeSource> labels = open_labels(name);
      ASSERT_TRUE(labels) << labels.error().message;
      EXPECT_EQ(labels->facts.type, type);
      std::vector<std::byte> plane(static_cast<std::size_t>(35 * voxel_bytes(type)));
      ASSERT_TRUE(labels->read_plane(2, {{}, facts.n}, plane));
      EXPECT_EQ(plane, test_plane(facts, 2));
      expect_volume(name, facts);
    }
  }
}

TEST(FileNames, RealAndSignedNumbersAreNoLabels) {
  const Scratch scratch;
  for (const VoxelType type : {VoxelType::f32, VoxelType::f64, VoxelType::i64}) {
    const FileName name{scratch.file(numpy_name(type) + ".npy"), ""};
    write_volume(name, {1, {2, 3, 4}, type});
    EXPECT_EQ(open_labels(name).error().message, name.path + ": voxel type " + numpy_name(type) +
                                                     " is not read: use uint8, uint16, uint32 or uint64 for labels");
  }
}

// flush() must fail, because a resume record follows it.
TEST(FileNames, APartialFileThatWasTakenAwayIsNotFlushed) {
  const Scratch scratch;
  const VolumeFacts facts{1, {4, 3, 5}, VoxelType::u8};
  for (const FileName& name :
       {FileName{scratch.file("out.npy"), ""}, {scratch.file("out.tif"), ""}, {scratch.file("out.h5"), "/prob"}}) {
    const Result<VolumeTarget> target = open_target(name, facts, 0);
    ASSERT_TRUE(target);
    write_planes(*target, facts, 0, 2);
    ASSERT_TRUE(target->flush());
    std::filesystem::remove(partial_name(name).path);
    const Result<void> flushed = target->flush();
    ASSERT_FALSE(flushed) << name.path;
    EXPECT_EQ(flushed.error().code, ErrorCode::device_failure);
    EXPECT_NE(flushed.error().message.find(name.path), std::string::npos);
  }
}

TEST(FileNames, MissingAndUnknownFilesAreRefusedInWords) {
  const Scratch scratch;
  const Result<VolumeSource> missing = open_source({scratch.file("none.npy"), ""});
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  const Result<VolumeSource> unknown = open_source({scratch.file("scan.dcm"), ""});
  EXPECT_EQ(unknown.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(unknown.error().message.find(".dcm"), std::string::npos);
  EXPECT_FALSE(open_target({scratch.file("scan.dcm"), ""}, {}, 0));
}

}  // namespace
}  // namespace znni::client
