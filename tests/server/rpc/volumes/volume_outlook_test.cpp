#include "server/rpc/volumes/volume_outlook.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/rpc/fake_model_server.hpp"

namespace znni::rpc {
namespace {

using testing::HasSubstr;

v1::VolumeHeader header_of(std::int64_t y) {
  v1::VolumeHeader header;
  header.set_model_name("twice");
  header.set_datatype("UINT8");
  header.set_channels(1);
  header.mutable_extent()->set_z(6);
  header.mutable_extent()->set_y(y);
  header.mutable_extent()->set_x(9);
  return header;
}

TEST(VolumeOutlook, TellsOutputTimesAndParts) {
  const FakeModelServer models;
  const Result<v1::VolumeOutlook> estimate = volume_outlook(header_of(22), models);
  ASSERT_TRUE(estimate) << estimate.error().message;
  EXPECT_EQ(estimate->extent().z(), 4);
  EXPECT_EQ(estimate->extent().y(), 20);
  EXPECT_EQ(estimate->extent().x(), 7);
  EXPECT_EQ(estimate->part().z(), 4);
  EXPECT_EQ(estimate->part().y(), 6);
  EXPECT_EQ(estimate->part().x(), 6);
  EXPECT_EQ(estimate->parts(), 4 * 2);
  EXPECT_EQ(estimate->predicted_seconds(), 0.5);
  EXPECT_EQ(estimate->predicted_seconds_in_parts(), 0.25);
}

TEST(VolumeOutlook, WhatIsWantedAsAWholeIsOnePart) {
  FakeModelServer models;
  models.whole_input = true;
  const Result<v1::VolumeOutlook> estimate = volume_outlook(header_of(22), models);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->parts(), 1);
  EXPECT_EQ(estimate->part().y(), 20);
  EXPECT_EQ(estimate->predicted_seconds_in_parts(), 0.5);
  v1::VolumeHeader normalised = header_of(22);
  normalised.set_normalised(true);
  EXPECT_EQ(volume_outlook(normalised, models)->parts(), 8) << "nothing of it depends on the whole";
}

TEST(VolumeOutlook, WhatIsWantedAsAWholeMustFit) {
  FakeModelServer models(6 * 22 * 9 - 1);
  EXPECT_TRUE(volume_outlook(header_of(22), models));
  models.whole_input = true;
  EXPECT_EQ(volume_outlook(header_of(22), models).error().code, ErrorCode::over_budget);
}

TEST(VolumeOutlook, IsRefusedWhereTheStreamWouldBe) {
  const FakeModelServer models;
  const auto expect = [&](const v1::VolumeHeader& bad, ErrorCode code, const std::string& part) {
    const Result<v1::VolumeOutlook> estimate = volume_outlook(bad, models);
    ASSERT_FALSE(estimate);
    EXPECT_EQ(estimate.error().code, code);
    EXPECT_THAT(estimate.error().message, HasSubstr(part));
  };
  expect(header_of(2), ErrorCode::invalid_argument, "6x2x9");
  v1::VolumeHeader bad = header_of(22);
  bad.set_model_name("none");
  expect(bad, ErrorCode::not_found, "unknown model");
  bad.set_model_name("broken");
  expect(bad, ErrorCode::unavailable, "truncated");
  bad = header_of(22);
  bad.set_model_version("new");
  expect(bad, ErrorCode::invalid_argument, "'new'");
  bad = header_of(22);
  bad.set_datatype("FP64");
  expect(bad, ErrorCode::invalid_argument, "'FP64'");
  expect(v1::VolumeHeader(), ErrorCode::not_found, "unknown model");
}

TEST(VolumeOutlook, ForgetsWhereAStreamWouldGoOn) {
  v1::VolumeHeader later = header_of(22);
  later.set_first_plane(1000);
  later.set_resume_token("another");
  EXPECT_TRUE(volume_outlook(later, FakeModelServer()));
}

}  // namespace
}  // namespace znni::rpc
