#include "client/cli/recorded_writer.hpp"

#include "tests/client/scratch.hpp"

namespace znni::client {
namespace {

// Stores each write as "z y+rows x+columns" and counts flushes.
struct Notes {
  std::vector<std::string> planes;
  int flushes = 0;
  bool finished = false;
};
VolumeTarget noting(Notes& notes) {
  VolumeTarget target;
  target.write_plane = [&notes](std::int64_t z, const Box& box, std::span<const std::byte>) -> Result<void> {
    const Vec3 n = box.extent();
    notes.planes.push_back(std::to_string(z) + " " + std::to_string(box.start.y) + "+" + std::to_string(n.y) + " " +
                           std::to_string(box.start.x) + "+" + std::to_string(n.x));
    return {};
  };
  target.flush = [&notes]() -> Result<void> {
    ++notes.flushes;
    return {};
  };
  target.finish = [&notes]() -> Result<void> {
    notes.finished = true;
    return {};
  };
  return target;
}

void write(RecordedWriter& writer, int planes) {
  for (int i = 0; i < planes; ++i) ASSERT_TRUE(writer.write({}));
}

TEST(RecordedWriter, PartAfterPartAndARecordBehindEach) {
  const Scratch scratch;
  const FileName output{scratch.file("out.npy"), ""};
  Notes notes;
  RecordedWriter writer(output, noting(notes), {{2, 4, 5}, {2, 4, 3}}, {{}, 0, 2, "", 0, 4, 3, ""});
  EXPECT_EQ(writer.recorded(), "");
  writer.begin("first", "model");
  write(writer, 2);
  ASSERT_TRUE(writer.end_part());
  EXPECT_EQ(writer.recorded(), "1 of 2 parts and 0 of 2 planes");
  writer.begin("second", "model");
  write(writer, 1);
  ASSERT_TRUE(writer.record());
  EXPECT_EQ(notes.planes, (std::vector<std::string>{"0 0+4 0+3", "1 0+4 0+3", "0 0+4 3+2"}));
  EXPECT_EQ(notes.flushes, 2);
  const auto state = read_resume(output);
  ASSERT_TRUE(state && state->has_value());
  EXPECT_EQ((*state)->parts_done, 1);
  EXPECT_EQ((*state)->planes_done, 1);
  EXPECT_EQ((*state)->part_x, 3);
  EXPECT_EQ((*state)->token, "second");
  EXPECT_EQ((*state)->model_token, "model");
  write(writer, 1);
  ASSERT_TRUE(writer.end_part());
  ASSERT_TRUE(writer.finish());
  EXPECT_TRUE(notes.finished);
  EXPECT_FALSE(read_resume(output)->has_value());
}

TEST(RecordedWriter, GoesOnInTheMiddleOfAPart) {
  const Scratch scratch;
  Notes notes;
  RecordedWriter writer({scratch.file("out.npy"), ""}, noting(notes), {{4, 4, 5}, {4, 2, 5}},
                        {{}, 3, 4, "old", 1, 2, 5, "model"});
  EXPECT_EQ(writer.recorded(), "1 of 2 parts and 3 of 4 planes");
  writer.begin("new", "model");
  write(writer, 1);
  EXPECT_EQ(notes.planes, (std::vector<std::string>{"3 2+2 0+5"}));
}

TEST(RecordedWriter, ARecordNowAndThen) {
  const Scratch scratch;
  Notes notes;
  RecordedWriter writer({scratch.file("out.npy"), ""}, noting(notes), {{200, 4, 5}, {200, 4, 5}},
                        {{}, 0, 200, "", 0, 0, 0, ""});
  writer.begin("token", "");
  write(writer, 100);
  EXPECT_EQ(notes.flushes, 3);
  EXPECT_EQ(writer.recorded(), "96 of 200 planes");
  ASSERT_TRUE(writer.record());
  EXPECT_EQ(writer.recorded(), "100 of 200 planes");
}

TEST(RecordedWriter, ARecordWhereFlushingIsCheap) {
  const Scratch scratch;
  Notes notes;
  VolumeTarget target = noting(notes);
  target.planes_at_once = 25;
  RecordedWriter writer({scratch.file("out.npy"), ""}, std::move(target), {{200, 4, 5}, {200, 4, 5}},
                        {{}, 0, 200, "", 0, 0, 0, ""});
  writer.begin("token", "");
  write(writer, 49);
  EXPECT_EQ(notes.flushes, 0);
  write(writer, 1);
  EXPECT_EQ(writer.recorded(), "50 of 200 planes");
  write(writer, 60);
  EXPECT_EQ(writer.recorded(), "100 of 200 planes") << "32 planes are due after the next layer";
  ASSERT_TRUE(writer.record());
  EXPECT_EQ(writer.recorded(), "110 of 200 planes") << "what is asked for is done at once";
}

// A run that is killed between finish() of the target and the removal of the record leaves a complete record.
TEST(RecordedWriter, AllIsRecordedBeforeTheEnd) {
  const Scratch scratch;
  const FileName output{scratch.file("out.npy"), ""};
  Notes notes;
  std::int64_t recorded = 0;
  VolumeTarget target = noting(notes);
  target.finish = [&]() -> Result<void> {
    recorded = (*read_resume(output))->planes_done;
    return Error{ErrorCode::device_failure, "disk full"};
  };
  RecordedWriter writer(output, std::move(target), {{40, 4, 5}, {40, 4, 5}}, {{}, 0, 40, "", 0, 0, 0, ""});
  writer.begin("token", "");
  write(writer, 40);
  EXPECT_FALSE(writer.finish());
  EXPECT_EQ(recorded, 40);
  EXPECT_EQ(writer.recorded(), "40 of 40 planes");
}

// A net that pads has no token, and yet need not compute again what lacks nothing but its name.
TEST(RecordedWriter, AWholeOutputIsRecordedWithoutAToken) {
  const Scratch scratch;
  const FileName output{scratch.file("out.npy"), ""};
  Notes notes;
  VolumeTarget target = noting(notes);
  target.finish = []() -> Result<void> { return Error{ErrorCode::device_failure, "disk full"}; };
  RecordedWriter writer(output, std::move(target), {{40, 4, 5}, {40, 4, 5}}, {{}, 0, 40, "", 0, 0, 0, ""});
  writer.begin("", "");
  write(writer, 39);
  ASSERT_TRUE(writer.record());
  EXPECT_EQ(writer.recorded(), "");
  write(writer, 1);
  EXPECT_FALSE(writer.finish());
  EXPECT_EQ(writer.recorded(), "40 of 40 planes");
  const auto state = read_resume(output);
  ASSERT_TRUE(state && state->has_value());
  EXPECT_EQ((*state)->planes_done, 40);
}

TEST(RecordedWriter, WithoutATokenAWholeOutputNeedsNoRecord) {
  const Scratch scratch;
  Notes notes;
  RecordedWriter writer({scratch.file("none/out.npy"), ""}, noting(notes), {{32, 4, 5}, {32, 4, 5}},
                        {{}, 0, 32, "", 0, 0, 0, ""});
  writer.begin("", "");
  write(writer, 32);
  ASSERT_TRUE(writer.finish()) << "its record has no folder to lie in";
  EXPECT_TRUE(notes.finished);
}

// Linux tells once that pages could not be written, and not with the next flush.
TEST(RecordedWriter, AfterALossNothingIsRecorded) {
  const Scratch scratch;
  const FileName output{scratch.file("out.npy"), ""};
  Notes notes;
  VolumeTarget target = noting(notes);
  target.flush = [&notes]() -> Result<void> {
    if (++notes.flushes > 1) return {};
    return Error{ErrorCode::device_failure, "disk full"};
  };
  RecordedWriter writer(output, std::move(target), {{40, 4, 5}, {40, 4, 5}}, {{}, 0, 40, "", 0, 0, 0, ""});
  writer.begin("token", "");
  write(writer, 20);
  EXPECT_FALSE(writer.record());
  write(writer, 1);
  ASSERT_TRUE(writer.record());
  EXPECT_EQ(writer.recorded(), "");
  const auto state = read_resume(output);
  ASSERT_TRUE(state);
  EXPECT_FALSE(state->has_value());
}

TEST(RecordedWriter, WhatCannotBeResumedIsNotRecorded) {
  const Scratch scratch;
  const FileName output{scratch.file("out.npy"), ""};
  Notes notes;
  RecordedWriter writer(output, noting(notes), {{200, 4, 5}, {200, 4, 5}}, {{}, 0, 200, "", 0, 0, 0, ""});
  writer.begin("", "");
  write(writer, 100);
  ASSERT_TRUE(writer.record());
  EXPECT_EQ(notes.flushes, 0);
  EXPECT_EQ(writer.recorded(), "");
  EXPECT_FALSE(read_resume(output)->has_value());
}

}  // namespace
}  // namespace znni::client
