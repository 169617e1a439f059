#include "client/cli/resume.hpp"

#include <fstream>

#include "tests/client/scratch.hpp"

namespace znni::client {
namespace {

const JobIdentity job{"in.h5:/raw", "net", "1", "0:4,0:4,0:4", "none", "float32", "model", "64 bytes, 7", "1 images"};

TEST(Resume, RoundTripAndRemoval) {
  const Scratch scratch;
  const FileName output{scratch.file("out.h5"), "/prob"};
  EXPECT_FALSE(read_resume(output)->has_value());
  ASSERT_TRUE(write_resume(output, {job, 3, 9, "token"}));
  const auto state = read_resume(output);
  ASSERT_TRUE(state && state->has_value());
  EXPECT_EQ((*state)->job, job);
  EXPECT_EQ((*state)->planes_done, 3);
  EXPECT_EQ((*state)->token, "token");
  remove_resume(output);
  EXPECT_FALSE(read_resume(output)->has_value());
}

TEST(Resume, WhatTheOutputReplacesComesBack) {
  const Scratch scratch;
  const FileName output{scratch.file("out.npy"), ""};
  ASSERT_TRUE(write_resume(output, {job, 3, 9, "token", 0, 0, 0, "", "17"}));
  EXPECT_EQ((*read_resume(output))->replaces, "17");
  std::ifstream file(resume_path(output));
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t at = text.find("\"replaces\"");
  text.erase(at, text.find('\n', at) - at);
  std::ofstream(resume_path(output)) << text;
  const auto older = read_resume(output);
  ASSERT_TRUE(older && older->has_value()) << "of a client that did not look at it";
  EXPECT_EQ((*older)->replaces, "");
}

TEST(Resume, PartsComeBackAndOlderRecordsHaveNone) {
  const Scratch scratch;
  const FileName output{scratch.file("out.npy"), ""};
  ASSERT_TRUE(write_resume(output, {job, 3, 9, "token", 2, 5, 7, "model"}));
  const auto state = read_resume(output);
  ASSERT_TRUE(state && state->has_value());
  EXPECT_EQ((*state)->planes_done, 3);
  EXPECT_EQ((*state)->parts_done, 2);
  EXPECT_EQ((*state)->part_y, 5);
  EXPECT_EQ((*state)->part_x, 7);
  EXPECT_EQ((*state)->model_token, "model");
  ASSERT_TRUE(write_resume(output, {job, 3, 9, "token"}));
  EXPECT_EQ((*read_resume(output))->part_y, 0);
  for (const ResumeState& bad :
       {ResumeState{job, 3, 9, "token", -1, 5, 7, "model"}, ResumeState{job, 3, 9, "token", 2, 5, 0, "model"}}) {
    ASSERT_TRUE(write_resume(output, bad));
    EXPECT_EQ(read_resume(output).error().code, ErrorCode::corrupt_file);
  }
}

// A client that does not know parts reads "planes_done", and would take planes of a part for planes of the output.
TEST(Resume, AnOlderClientRefusesParts) {
  const Scratch scratch;
  const FileName output{scratch.file("out.npy"), ""};
  const auto has_planes_done = [&] {
    std::ifstream file(resume_path(output));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return text.find("\"planes_done\"") != std::string::npos;
  };
  ASSERT_TRUE(write_resume(output, {job, 3, 9, "token", 2, 5, 7, "model"}));
  EXPECT_FALSE(has_planes_done());
  ASSERT_TRUE(write_resume(output, {job, 3, 9, "token"}));
  EXPECT_TRUE(has_planes_done());
}

TEST(Resume, DatasetsOfOneFileHaveTheirOwnRecords) {
  EXPECT_NE(resume_path({"out.h5", "/a"}), resume_path({"out.h5", "/b"}));
}

TEST(Resume, DamagedRecordsAreRefused) {
  const Scratch scratch;
  const FileName output{scratch.file("out.npy"), ""};
  for (const char* text : {"", "{", "[]", "{\"planes_done\": 3}", "{\"input\": 5}"}) {
    std::ofstream(resume_path(output)) << text;
    const auto state = read_resume(output);
    ASSERT_FALSE(state) << text;
    EXPECT_EQ(state.error().code, ErrorCode::corrupt_file);
  }
}

TEST(Resume, ImpossiblePlaneCountsAreRefused) {
  const Scratch scratch;
  const FileName output{scratch.file("out.npy"), ""};
  ASSERT_TRUE(write_resume(output, {job, 10, 9, ""}));
  EXPECT_FALSE(read_resume(output));
}

TEST(Resume, DifferenceNamesTheField) {
  JobIdentity other = job;
  EXPECT_EQ(difference(job, other), "");
  other.padding = "zero";
  EXPECT_EQ(difference(job, other), "padding: 'none' then, 'zero' now");
}

}  // namespace
}  // namespace znni::client
