#include "server/rpc/volumes/volume_checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/server/rpc/requests.hpp"

namespace znni::rpc {
namespace {

using testing::HasSubstr;

v1::VolumeHeader header() {
  v1::VolumeHeader header;
  header.set_model_name("twice");
  header.set_datatype("UINT8");
  header.set_channels(1);
  header.mutable_extent()->set_z(6);
  header.mutable_extent()->set_y(5);
  header.mutable_extent()->set_x(4);
  return header;
}

void expect_invalid(const v1::VolumeHeader& header, const std::string& part) {
  const Result<VolumeHead> head = check_volume_header(header, twice_model());
  ASSERT_FALSE(head);
  EXPECT_EQ(head.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(head.error().message, HasSubstr("model 'twice'"));
  EXPECT_THAT(head.error().message, HasSubstr(part));
}

TEST(VolumeChecks, NumbersOfChannelsAreWrittenInTypesThatHoldThem) {
  ModelInfo model = twice_model();
  v1::VolumeHeader asked = header();
  asked.set_output_datatype("UINT8");
  EXPECT_TRUE(check_volume_header(asked, model));
  model.largest_channel_number = 4;
  const Result<VolumeHead> refused = check_volume_header(asked, model);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("output_datatype is 'UINT8', which does not hold the numbers of "
                                                 "channels that the model writes, 0 to 4; expected FP32,FP16"));
  asked.set_output_datatype("FP16");
  EXPECT_TRUE(check_volume_header(asked, model));
}

TEST(VolumeChecks, LegalHeader) {
  const Result<VolumeHead> head = check_volume_header(header(), twice_model());
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->volume, (VolumeShape{1, {6, 5, 4}, ElementType::u8, VolumeOrder::plane_major}));
  EXPECT_EQ(head->output_type, ElementType::f32);
}

TEST(VolumeChecks, Priority) {
  v1::VolumeHeader urgent = header();
  EXPECT_EQ(check_volume_header(urgent, twice_model())->priority, 0);
  urgent.set_priority(1);
  EXPECT_EQ(check_volume_header(urgent, twice_model())->priority, 1);
  urgent.set_priority(~std::uint32_t{0});
  EXPECT_GT(check_volume_header(urgent, twice_model())->priority, 1000);
}

TEST(VolumeChecks, TheModelsTokenIsThatOfAllVolumesItComputes) {
  ModelInfo model = twice_model();
  const std::string token = model_token(model);
  EXPECT_FALSE(token.empty());
  EXPECT_NE(token, resume_token(header(), model));
  model.identity = "other weights";
  EXPECT_NE(model_token(model), token);
}

TEST(VolumeChecks, TheFirstPlaneIsOneOfTheOutput) {
  v1::VolumeHeader later = header();
  EXPECT_EQ(check_volume_header(later, twice_model())->first_plane, 0);
  later.set_first_plane(3);
  EXPECT_EQ(check_volume_header(later, twice_model())->first_plane, 3);
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{4}, std::int64_t{1} << 62}) {
    later.set_first_plane(bad);
    expect_invalid(later, "first_plane " + std::to_string(bad) + " found, expected one of the output's 4 planes");
  }
}

TEST(VolumeChecks, ATokenStandsForVolumeModelAndPlan) {
  const ModelInfo model = twice_model();
  v1::VolumeHeader begun = header();
  const std::string token = resume_token(begun, model);
  v1::VolumeHeader later = begun;
  later.set_first_plane(2);
  later.set_id("another");
  later.set_priority(1);
  later.set_output_datatype("FP32");  // as "" is
  EXPECT_EQ(resume_token(later, model), token);
  EXPECT_TRUE(check_resume(begun, token, model)) << "from the start none is needed";
  EXPECT_EQ(check_resume(later, token, model).error().code, ErrorCode::corrupt_file);
  later.set_resume_token(token);
  EXPECT_TRUE(check_resume(later, token, model));
  ModelInfo other = model;
  other.identity = "other weights";
  EXPECT_NE(resume_token(later, other), token);
  for (const auto& change : std::vector<std::function<void(v1::VolumeHeader&)>>{
           [](v1::VolumeHeader& h) { h.set_datatype("UINT16"); }, [](v1::VolumeHeader& h) { h.set_channels(2); },
           [](v1::VolumeHeader& h) { h.mutable_extent()->set_z(7); },
           [](v1::VolumeHeader& h) { h.set_normalised(true); },
           [](v1::VolumeHeader& h) { h.set_output_datatype("FP16"); }}) {
    v1::VolumeHeader changed = later;
    change(changed);
    EXPECT_NE(resume_token(changed, model), token) << changed.ShortDebugString();
  }
}

TEST(VolumeChecks, WhatIsStandardisedAsAWholeCannotBeResumed) {
  ModelInfo model = twice_model();
  model.whole_input = true;
  v1::VolumeHeader later = header();
  EXPECT_TRUE(check_resume(later, "token", model));
  later.set_first_plane(1);
  later.set_resume_token("token");
  EXPECT_EQ(check_resume(later, "token", model).error().code, ErrorCode::unsupported);
  EXPECT_TRUE(check_volume_header(later, model)->whole);
  later.set_normalised(true);
  EXPECT_TRUE(check_resume(later, "token", model)) << "the client standardised it itself";
  EXPECT_FALSE(check_volume_header(later, model)->whole);
}

TEST(VolumeChecks, StreamsOfNetworksThatPadAreNotResumed) {
  ModelInfo model = twice_model();
  model.padded = {1, 0, 0};  // a frame is not needed: padding may follow a crop
  v1::VolumeHeader later = header();
  EXPECT_TRUE(check_resume(later, "token", model));
  later.set_first_plane(1);
  later.set_resume_token("token");
  EXPECT_EQ(check_resume(later, "token", model).error().code, ErrorCode::unsupported);
  model.padded = {0, 1, 1};
  EXPECT_TRUE(check_resume(later, "token", model)) << "planes before the first are not read";
  model.period = Vec3::cube(2);
  EXPECT_EQ(check_resume(later, "token", model).error().code, ErrorCode::unsupported)
      << "strides begin with the volume";
}

TEST(VolumeChecks, StreamsOfNetworksThatNormaliseAreNotResumed) {
  ModelInfo model = twice_model();
  model.window = {6, 5, 4};
  v1::VolumeHeader later = header();
  EXPECT_TRUE(check_resume(later, "token", model));
  later.set_first_plane(1);
  later.set_resume_token("token");
  EXPECT_EQ(check_resume(later, "token", model).error().code, ErrorCode::unsupported);
  EXPECT_THAT(check_resume(later, "token", model).error().message, HasSubstr("expected 0: the network pads, upsamples "
                                                                             "or is bound to its window"));
}

TEST(VolumeChecks, NormalisedByTheClient) {
  v1::VolumeHeader own = header();
  EXPECT_FALSE(check_volume_header(own, twice_model())->normalised);
  own.set_normalised(true);
  EXPECT_TRUE(check_volume_header(own, twice_model())->normalised);
}

TEST(VolumeChecks, Datatypes) {
  v1::VolumeHeader bad = header();
  bad.set_datatype("INT8");
  expect_invalid(bad, "'INT8' found, expected FP32, FP16, UINT8 or UINT16");
  bad = header();
  bad.set_output_datatype("UINT16");
  expect_invalid(bad, "output_datatype is 'UINT16'");
}

TEST(VolumeChecks, ChannelsAndExtents) {
  v1::VolumeHeader bad = header();
  bad.set_channels(3);
  expect_invalid(bad, "3 channels found, expected 1");
  bad = header();
  bad.mutable_extent()->set_y(0);
  expect_invalid(bad, "6x0x4");
  bad.clear_extent();
  expect_invalid(bad, "0x0x0");
  bad = header();
  bad.mutable_extent()->set_z(std::int64_t{1} << 40);
  bad.mutable_extent()->set_y(std::int64_t{1} << 40);
  expect_invalid(bad, "");
}

TEST(VolumeChecks, FlatModelsTakeOnePlane) {
  const ModelInfo flat = *FakeModelServer().find("flat", "");
  v1::VolumeHeader one = header();
  EXPECT_THAT(check_volume_header(one, flat).error().message, HasSubstr("expected z = 1"));
  one.mutable_extent()->set_z(1);
  EXPECT_TRUE(check_volume_header(one, flat));
}

TEST(VolumeChecks, LinesTakeOneRow) {
  const ModelInfo line = *FakeModelServer().find("line", "");
  v1::VolumeHeader one = header();
  one.mutable_extent()->set_z(1);
  EXPECT_THAT(check_volume_header(one, line).error().message, HasSubstr("expected y = 1 for a 1D net"));
  one.mutable_extent()->set_y(1);
  EXPECT_TRUE(check_volume_header(one, line));
}

}  // namespace
}  // namespace znni::rpc
