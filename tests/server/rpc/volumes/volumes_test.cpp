#include "server/rpc/volumes/volumes.hpp"

#include <gmock/gmock.h>

#include <future>

#include "tests/server/jobs/wait_until.hpp"
#include "tests/server/rpc/volumes/volume_client.hpp"

namespace znni::rpc {
namespace {

using grpc::StatusCode;

using VolumesTest = VolumesLoopback;

TEST_F(VolumesTest, VolumesOfManyChunks) {
  // 3 MB of bytes in, 22 MB out: more than any single message may have.
  VolumeClient client(*stub_);
  const Vec3 n = {150, 150, 130};
  client.stream->Write(header(n, "UINT8"));
  client.send(voxels_of(n, ElementType::u8));
  const grpc::Status status = client.finish();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(is_twice(client.received, {2, n - Vec3::cube(2), ElementType::f32, VolumeOrder::plane_major}));
  EXPECT_EQ(models_.leased(), 0);
}

TEST_F(VolumesTest, OutputTypes) {
  v1::VolumeRequest first = header();
  first.mutable_header()->set_output_datatype("FP16");
  VolumeClient client(*stub_);
  client.stream->Write(first);
  client.send(voxels_of({6, 5, 4}));
  ASSERT_TRUE(client.finish().ok());
  EXPECT_TRUE(is_twice(client.received, {2, {4, 3, 2}, ElementType::f16, VolumeOrder::plane_major}));
}

TEST_F(VolumesTest, HeadersThatMakeNoSense) {
  v1::VolumeRequest bad = header();
  bad.mutable_header()->set_model_name("none");
  expect_refused({bad}, StatusCode::NOT_FOUND, "Request for unknown model");
  bad = header();
  bad.mutable_header()->set_model_version("new");
  expect_refused({bad}, StatusCode::INVALID_ARGUMENT, "'new'");
  expect_refused({header({2, 5, 5})}, StatusCode::INVALID_ARGUMENT, "2x5x5");
  expect_refused({header({6, 5, 4}, "FP64")}, StatusCode::INVALID_ARGUMENT, "'FP64'");
  expect_alive();
}

TEST_F(VolumesTest, WhatDoesNotFitIsRefusedBeforeDataFlows) {
  expect_refused({header({1000, 2000, 2000})}, StatusCode::RESOURCE_EXHAUSTED, "model 'twice'");
  EXPECT_EQ(records().front().refusal, "too_large");
  {
    const Result<TransportLease> others = models_.lease((std::int64_t{64} << 20) - 100);
    VolumeClient client(*stub_);
    client.stream->Write(header());
    EXPECT_EQ(client.finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(records().back().refusal, "memory");
  }
  expect_alive();
}

TEST_F(VolumesTest, TellsBeforeAnyDataInWhichPartsAVolumeIsBestSent) {
  v1::VolumeOutlook estimate;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->Outlook(&context, header({6, 22, 9}).header(), &estimate).ok());
  EXPECT_EQ(estimate.parts(), 4 * 2);
  EXPECT_EQ(models_.leased(), 0);
  grpc::ClientContext refused;
  EXPECT_EQ(stub_->Outlook(&refused, header({6, 22, 2}).header(), &estimate).error_code(),
            StatusCode::INVALID_ARGUMENT);
}

TEST_F(VolumesTest, WhoAsksHowAVolumeIsBestSentIsCountedAndNoted) {
  v1::VolumeOutlook estimate;
  grpc::ClientContext context;
  ASSERT_TRUE(stub_->Outlook(&context, header({6, 22, 9}).header(), &estimate).ok());
  ASSERT_EQ(records().size(), 1U);
  EXPECT_EQ(records().front().method, "Outlook");
  EXPECT_EQ(records().front().model, "twice");
  EXPECT_EQ(records().front().version, "2");
  EXPECT_EQ(records().front().code, "OK");
  server_->close();
  grpc::ClientContext late;
  EXPECT_EQ(stub_->Outlook(&late, header({6, 22, 9}).header(), &estimate).error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(records().size(), 2U);
}

TEST_F(VolumesTest, WhoHasGoneIsNotWeighedFor) {
  grpc::ClientContext context;
  std::promise<bool> stopped;
  models_.cut_begins = [&](const std::stop_token& stop) {
    context.TryCancel();
    stopped.set_value(test::wait_until([&] { return stop.stop_requested(); }));
  };
  v1::VolumeOutlook estimate;
  EXPECT_EQ(stub_->Outlook(&context, header({6, 22, 9}).header(), &estimate).error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(stopped.get_future().get());
  EXPECT_TRUE(test::wait_until([&] { return records().size() == 1; }));
}

TEST_F(VolumesTest, AClosedServerTakesNone) {
  server_->close();
  expect_refused({header()}, StatusCode::UNAVAILABLE, "shutting down");
  EXPECT_EQ(records().back().refusal, "shutting_down");
}

}  // namespace
}  // namespace znni::rpc
