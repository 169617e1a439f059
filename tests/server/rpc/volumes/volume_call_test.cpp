#include "server/rpc/volumes/volume_call.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include "tests/server/rpc/moved_clock.hpp"
#include "tests/server/rpc/volumes/volume_client.hpp"

namespace znni::rpc {
namespace {

using grpc::StatusCode;
using Hold = FakeModelServer::Hold;

using VolumeCallTest = VolumesLoopback;

TEST_F(VolumeCallTest, AcceptsBeforeDataFlows) {
  VolumeClient client(*stub_);
  client.stream->Write(header());
  v1::VolumeResponse response;
  ASSERT_TRUE(client.stream->Read(&response));
  ASSERT_TRUE(response.has_accepted());
  EXPECT_EQ(response.accepted().channels(), 2);
  EXPECT_EQ(response.accepted().extent().z(), 4);
  EXPECT_EQ(response.accepted().extent().y(), 3);
  EXPECT_EQ(response.accepted().extent().x(), 2);
  EXPECT_EQ(response.accepted().datatype(), "FP32");
  EXPECT_EQ(response.accepted().field_of_view().x(), 3);
  EXPECT_EQ(response.accepted().patch().z(), 6);
  EXPECT_EQ(response.accepted().patches(), 2);
  EXPECT_NE(response.accepted().model_token(), "");
  EXPECT_EQ(response.accepted().predicted_seconds(), 0.5);
  EXPECT_GT(models_.leased(), 0);
  models_.replaced = 6;
  client.send(voxels_of({6, 5, 4}));
  ASSERT_TRUE(client.finish().ok());
  EXPECT_TRUE(is_twice(client.received, {2, {4, 3, 2}, ElementType::f32, VolumeOrder::plane_major}));
  ASSERT_TRUE(client.done);
  EXPECT_EQ(client.done->bytes(), 192);
  EXPECT_EQ(client.done->voxels_per_second(), 4000);
  EXPECT_EQ(client.done->nonfinite_voxels(), 6);
  ASSERT_FALSE(client.progress.empty());
  EXPECT_EQ(client.progress.back().patches_done(), 2);
  EXPECT_EQ(client.progress.back().planes_done(), 4);
}

TEST_F(VolumeCallTest, HeaderMustComeFirstAndOnce) {
  expect_refused({chunk(0, "x")}, StatusCode::INVALID_ARGUMENT, "begins without a VolumeHeader");
  expect_refused({}, StatusCode::INVALID_ARGUMENT, "begins without a VolumeHeader");
  expect_refused({header(), header()}, StatusCode::INVALID_ARGUMENT, "without VolumeChunk");
}

TEST_F(VolumeCallTest, TooMuchTooLittleAndGaps) {
  const std::string bytes = voxels_of({6, 5, 4});
  expect_refused({header(), chunk(0, bytes.substr(0, 100))}, StatusCode::INVALID_ARGUMENT,
                 "100 bytes found, expected 480");
  expect_refused({header(), chunk(0, bytes), chunk(480, "x")}, StatusCode::INVALID_ARGUMENT,
                 "at least 481 bytes found, expected 480");
  expect_refused({header(), chunk(0, bytes.substr(0, 100)), chunk(104, "x")}, StatusCode::INVALID_ARGUMENT,
                 "offset 104 found, expected 100");
  expect_alive();
}

// A volume of which a few planes are held at a time.
class FlowingVolumeTest : public VolumeCallTest {
 protected:
  void SetUp() override {
    ListenOptions narrow = options();
    narrow.max_input_bytes = 1;
    narrow.max_unsent_bytes = 1;
    start(narrow);
    stub_ = v1::Volumes::NewStub(channel_);
  }
  static constexpr Vec3 n_{400, 64, 64};
  static constexpr std::int64_t plane_ = 64 * 64 * 4;
};

TEST_F(FlowingVolumeTest, OutputComesWhileInputIsMissing) {
  const std::string bytes = voxels_of(n_);
  VolumeClient client(*stub_);
  client.stream->Write(header(n_));
  client.stream->Write(chunk(0, bytes.substr(0, 20 * plane_)));
  v1::VolumeResponse response;
  while (client.received.size() < 10 * 2 * 62 * 62 * 4) {
    ASSERT_TRUE(client.stream->Read(&response));
    if (response.has_chunk()) client.received += response.chunk().data();
  }
  EXPECT_LT(models_.leased(), 20 * plane_) << "of 400 planes few are held";
  const CallFlow under_way = flow();
  EXPECT_EQ(under_way.bytes_in, 20 * plane_);
  EXPECT_GE(under_way.bytes_out + max_chunk_bytes, std::ssize(client.received));
  EXPECT_GE(under_way.patches, 5) << "of 2 planes each";
  EXPECT_EQ(under_way.voxels, under_way.patches * 2 * 62 * 62);
  EXPECT_EQ(under_way.model, "twice");
  EXPECT_EQ(under_way.version, "2");
  std::jthread rest([&] {
    for (std::int64_t at = 20 * plane_; at < 400 * plane_; at += 10 * plane_) {
      ASSERT_TRUE(client.stream->Write(chunk(at, bytes.substr(static_cast<std::size_t>(at), 10 * plane_))));
    }
    client.stream->WritesDone();
  });
  const grpc::Status status = client.finish();
  rest.join();
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(is_twice(client.received, {2, {398, 62, 62}, ElementType::f32, VolumeOrder::plane_major}));
  EXPECT_EQ(models_.leased(), 0);
  while (records().empty()) std::this_thread::yield();
  EXPECT_EQ(flow().bytes_in, 400 * plane_) << "and nothing is counted again at the end";
  EXPECT_EQ(flow().bytes_out, std::ssize(client.received));
  EXPECT_EQ(flow().voxels, 398 * 62 * 62);
  EXPECT_EQ(flow().patches, 199);
  EXPECT_EQ(records()[0].bytes_in, flow().bytes_in);
  EXPECT_EQ(records()[0].bytes_out, flow().bytes_out);
}

TEST_F(FlowingVolumeTest, WhatFlowedInACallThatIsCancelledStaysCounted) {
  VolumeClient client(*stub_);
  client.stream->Write(header(n_));
  client.stream->Write(chunk(0, voxels_of(n_).substr(0, 20 * plane_)));
  v1::VolumeResponse response;
  while (!response.has_chunk()) {
    ASSERT_TRUE(client.stream->Read(&response));
  }
  client.context.TryCancel();
  EXPECT_EQ(client.finish().error_code(), StatusCode::CANCELLED);
  while (records().empty()) std::this_thread::yield();
  EXPECT_EQ(flow().bytes_in, 20 * plane_);
  EXPECT_GT(flow().bytes_out, 0);
  EXPECT_GT(flow().patches, 0);
  EXPECT_EQ(records()[0].code, "CANCELLED");
  EXPECT_EQ(records()[0].bytes_in, flow().bytes_in);
  EXPECT_EQ(records()[0].bytes_out, flow().bytes_out);
}

TEST_F(FlowingVolumeTest, AnErrorReachesAClientThatIsStillSending) {
  models_.fail_with(Error{ErrorCode::device_failure, "worker died"});
  const std::string bytes =
      voxels_of(n_);  // before the call: one that is silent after an error is ended in another way
  VolumeClient client(*stub_);
  client.stream->Write(header(n_));
  std::jthread sends([&] { client.send(bytes); });
  const grpc::Status status = client.finish();
  EXPECT_EQ(status.error_code(), StatusCode::INTERNAL);
  EXPECT_THAT(status.error_message(), testing::HasSubstr("worker died"));
}

TEST_F(FlowingVolumeTest, AClientThatKeepsSilentAfterAnErrorIsLetGo) {
  models_.fail_with(Error{ErrorCode::device_failure, "worker died"});
  VolumeClient client(*stub_);
  client.stream->Write(header(n_));
  EXPECT_FALSE(client.finish().ok());
  while (models_.leased() != 0) std::this_thread::yield();
}

TEST_F(VolumeCallTest, GoesOnWhereAnEarlierStreamEnded) {
  const Vec3 n{9, 5, 4};
  const std::string bytes = voxels_of(n);
  std::string token;
  std::string whole;
  {
    VolumeClient client(*stub_);
    client.stream->Write(header(n));
    v1::VolumeResponse accepted;
    ASSERT_TRUE(client.stream->Read(&accepted));
    token = accepted.accepted().resume_token();
    client.send(bytes);
    ASSERT_TRUE(client.finish().ok());
    whole = client.received;
  }
  v1::VolumeRequest later = header(n);
  later.mutable_header()->set_first_plane(3);
  expect_refused({later}, StatusCode::FAILED_PRECONDITION, "start over");
  later.mutable_header()->set_resume_token(token);
  expect_refused({later, chunk(0, bytes.substr(0, 8))}, StatusCode::INVALID_ARGUMENT, "offset 0 found, expected 240");
  VolumeClient client(*stub_);
  client.stream->Write(later);
  client.stream->Write(chunk(240, bytes.substr(240)));
  client.stream->WritesDone();
  v1::VolumeResponse response;
  const std::size_t begin = 3 * 2 * 3 * 2 * 4;
  std::string rest;
  while (client.stream->Read(&response)) {
    if (response.has_accepted()) {
      EXPECT_EQ(response.accepted().extent().z(), 7);
    }
    if (response.has_done()) {
      EXPECT_EQ(response.done().bytes(), static_cast<std::int64_t>(whole.size() - begin));
    }
    if (!response.has_chunk()) continue;
    EXPECT_EQ(response.chunk().offset(), static_cast<std::int64_t>(begin + rest.size()));
    rest += response.chunk().data();
  }
  ASSERT_TRUE(client.stream->Finish().ok());
  EXPECT_EQ(rest, whole.substr(begin));
  EXPECT_EQ(models_.alike, 0) << "not a whole volume";
  EXPECT_TRUE(models_.had_source);
  models_.retrained = true;
  expect_refused({later}, StatusCode::FAILED_PRECONDITION, "not that of this volume, model and plan");
}

TEST_F(VolumeCallTest, AModelMayWantTheWholeVolumeFirst) {
  models_.whole_input = true;
  VolumeClient client(*stub_);
  client.stream->Write(header());
  v1::VolumeResponse accepted;
  ASSERT_TRUE(client.stream->Read(&accepted));
  EXPECT_EQ(accepted.accepted().resume_token(), "");
  client.send(voxels_of({6, 5, 4}));
  ASSERT_TRUE(client.finish().ok());
  EXPECT_TRUE(is_twice(client.received, {2, {4, 3, 2}, ElementType::f32, VolumeOrder::plane_major}));
}

TEST_F(VolumeCallTest, WhatSharesABatchIsReceivedFirstSoThatOthersMayTakeIt) {
  models_.batch = 4;
  models_.entries = 1;
  VolumeClient client(*stub_);
  client.stream->Write(header());
  const std::string bytes = voxels_of({6, 5, 4});
  client.stream->Write(chunk(0, bytes));  // and not a word that this was the last of it
  v1::VolumeResponse response;
  while (client.received.size() < 192) {
    ASSERT_TRUE(client.stream->Read(&response));
    if (response.has_chunk()) client.received += response.chunk().data();
  }
  client.stream->WritesDone();
  ASSERT_TRUE(client.finish().ok());
  EXPECT_TRUE(is_twice(client.received, {2, {4, 3, 2}, ElementType::f32, VolumeOrder::plane_major}));
  EXPECT_EQ(models_.alike, 1);
  EXPECT_FALSE(models_.had_source);
  expect_refused({header(), chunk(0, bytes.substr(0, 100))}, StatusCode::INVALID_ARGUMENT,
                 "100 bytes found, expected 480");
}

// A patch reads 8 planes of 20 and gives 6.
TEST_F(VolumeCallTest, InputIsReadAheadOnlyWhereTheSlabLeavesMemoryForIt) {
  const Vec3 n{20, 5, 4};
  const std::int64_t needed = 8 * 5 * 4 * 4 + 6 * 2 * 3 * 2 * 4;
  const Result<TransportLease> others = models_.lease(models_.memory().transport_limit - needed);
  ASSERT_TRUE(others);
  expect_alive(n);
}

// The list of patches is leased as well where nothing is read ahead: with a slab of 6 planes 4 of input are held.
TEST_F(VolumeCallTest, TheListOfPatchesIsLeasedWhateverIsReadAhead) {
  models_.list_bytes = 700;
  const Vec3 n{20, 5, 4};
  const std::int64_t slab = 6 * 2 * 3 * 2 * 4;
  const std::int64_t limit = models_.memory().transport_limit;
  const auto held_beside = [&](std::int64_t left) {
    const std::int64_t taken = limit - left;
    const Result<TransportLease> others = models_.lease(taken);
    EXPECT_TRUE(others);
    VolumeClient client(*stub_);
    client.stream->Write(header(n));
    v1::VolumeResponse response;
    EXPECT_TRUE(client.stream->Read(&response)) << client.stream->Finish().error_message();
    EXPECT_TRUE(response.has_accepted());
    const std::int64_t held = models_.leased() - taken;
    client.send(voxels_of(n));
    EXPECT_TRUE(client.finish().ok());
    return held;
  };
  const std::int64_t all = slab + 20 * 5 * 4 * 4 + 700;
  const std::int64_t least = slab + 4 * 5 * 4 * 4 + 700;
  EXPECT_EQ(held_beside(all), all);
  EXPECT_EQ(held_beside(all - 1), least);
  EXPECT_EQ(held_beside(least), least);
}

// Each has 14 planes, in slabs of 6, two at a time.
TEST_F(VolumeCallTest, WhatSharesABatchHasMemoryForAllItsSlabsOrIsRefused) {
  models_.batch = 4;
  models_.entries = 2;
  const Vec3 n{14, 5, 4};
  const std::int64_t needed = 14 * 5 * 4 * 4 + 2 * (6 * 2 * 3 * 2 * 4);
  const std::int64_t limit = models_.memory().transport_limit;
  {
    const Result<TransportLease> others = models_.lease(limit - needed + 1);
    ASSERT_TRUE(others);
    VolumeClient refused(*stub_);
    refused.stream->Write(header(n));
    refused.stream->WritesDone();
    EXPECT_EQ(refused.finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);
  }
  const Result<TransportLease> others = models_.lease(limit - needed);
  ASSERT_TRUE(others);
  expect_alive(n);
}

// A batch over three rows, that needs all of its entries for itself.
TEST_F(VolumeCallTest, EverySlabThatTheOutlookNamesIsLeasedBeforeAnyWork) {
  models_.slabs = 3;
  const Vec3 n{20, 5, 4};
  const std::int64_t needed = 4 * 5 * 4 * 4 + 3 * (6 * 2 * 3 * 2 * 4);
  const Result<TransportLease> others = models_.lease(models_.memory().transport_limit - needed + 1);
  ASSERT_TRUE(others);
  VolumeClient refused(*stub_);
  refused.stream->Write(header(n));
  refused.stream->WritesDone();
  EXPECT_EQ(refused.finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);
}

// A stream that is accepted between the estimate and the lease of another takes what that one would have read ahead and
// kept for thicker slabs.
TEST_F(VolumeCallTest, OfTwoThatComeAtTheSameMomentTheSecondDoesWithWhatIsLeft) {
  const Vec3 n{20, 5, 4};
  const std::int64_t thick = 20 * 5 * 4 * 4 + 6 * 2 * 3 * 2 * 4;
  const std::int64_t thin = 4 * 5 * 4 * 4 + 2 * 2 * 3 * 2 * 4;
  const Result<TransportLease> others = models_.lease(models_.memory().transport_limit - thick - thin);
  ASSERT_TRUE(others);
  models_.hold(Hold::patches);
  std::atomic<bool> looked_before = false;
  std::latch looked(1);
  std::latch taken(1);
  VolumeClient other(*stub_);
  VolumeClient client(*stub_);
  models_.after_estimate = [&] {
    if (looked_before.exchange(true)) return;
    looked.count_down();
    taken.wait();
  };
  client.stream->Write(header(n));
  looked.wait();
  other.stream->Write(header(n));
  v1::VolumeResponse response;
  EXPECT_TRUE(other.stream->Read(&response));
  EXPECT_TRUE(response.has_accepted());
  models_.max_slab_planes = 2;
  taken.count_down();
  ASSERT_TRUE(client.stream->Read(&response)) << client.stream->Finish().error_message();
  EXPECT_TRUE(response.has_accepted());
  models_.hold(Hold::nothing);
  const VolumeShape output{2, n - Vec3::cube(2), ElementType::f32, VolumeOrder::plane_major};
  for (VolumeClient* each : {&client, &other}) {
    each->send(voxels_of(n));
    EXPECT_TRUE(each->finish().ok());
    EXPECT_TRUE(is_twice(each->received, output));
  }
  EXPECT_EQ(models_.leased(), models_.memory().transport_limit - thick - thin);
}

// A second look finds what the first has leased, too: 500 bytes, for 4 planes of input and, at 128 bytes each, 3 of
// output.
TEST_F(VolumeCallTest, WhatItLeasedItselfIsNotMissingWhenItLooksAgain) {
  models_.bytes_per_slab_plane = 128;
  const std::int64_t taken = models_.memory().transport_limit - 500;
  std::optional<Result<TransportLease>> others;
  models_.after_estimate = [&] {
    if (!others) others.emplace(models_.lease(taken));
  };
  VolumeClient client(*stub_);
  const Vec3 n{20, 5, 4};
  client.stream->Write(header(n));
  v1::VolumeResponse response;
  ASSERT_TRUE(client.stream->Read(&response)) << client.stream->Finish().error_message();
  EXPECT_TRUE(response.has_accepted());
  EXPECT_EQ(models_.leased() - taken, 4 * 5 * 4 * 4 + 3 * (2 * 3 * 2 * 4));
  client.send(voxels_of(n));
  EXPECT_TRUE(client.finish().ok());
  EXPECT_EQ(models_.leased(), taken);
}

// The planes that came before would not fit its output, and the token that was sent does not either.
TEST_F(VolumeCallTest, AModelThatWasLoadedAnewDoesNotTakeTheJob) {
  models_.after_estimate = [this] { models_.retrained = true; };
  expect_refused({header(), chunk(0, voxels_of({6, 5, 4}))}, StatusCode::UNAVAILABLE, "loaded again");
  EXPECT_EQ(records().back().refusal, "not_ready");
  expect_alive();
}

TEST_F(VolumeCallTest, AFailingJobEndsItsStreamOnly) {
  models_.fail_with(Error{ErrorCode::device_failure, "worker died"});
  expect_refused({header(), chunk(0, voxels_of({6, 5, 4}))}, StatusCode::INTERNAL, "worker died");
  models_.fail_with({});
  expect_alive();
}

TEST_F(VolumeCallTest, ACancelWhileReceivingGivesTheMemoryBack) {
  VolumeClient client(*stub_);
  client.stream->Write(header());
  v1::VolumeResponse accepted;
  ASSERT_TRUE(client.stream->Read(&accepted));
  client.stream->Write(chunk(0, "12345678"));
  client.context.TryCancel();
  EXPECT_EQ(client.finish().error_code(), StatusCode::CANCELLED);
  while (models_.leased() != 0) std::this_thread::yield();
  expect_alive();
}

class VolumeCallStopTest : public VolumeCallTest, public testing::WithParamInterface<Hold> {};

TEST_P(VolumeCallStopTest, ACancelStopsTheJob) {
  models_.hold(GetParam());
  VolumeClient client(*stub_);
  client.stream->Write(header());
  client.send(voxels_of({6, 5, 4}));
  models_.wait_for_jobs(1);
  client.context.TryCancel();
  EXPECT_EQ(client.finish().error_code(), StatusCode::CANCELLED);
  while (models_.stopped_jobs == 0 || models_.leased() != 0) std::this_thread::yield();
  models_.hold(Hold::nothing);
  expect_alive();
}

INSTANTIATE_TEST_SUITE_P(QueuedOrComputing, VolumeCallStopTest, testing::Values(Hold::queue, Hold::patches));

TEST_F(VolumeCallTest, AClientThatSendsNoHeaderIsLetGo) {
  ListenOptions impatient = options();
  impatient.silent_seconds = 0.05;
  start(impatient);
  stub_ = v1::Volumes::NewStub(channel_);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(10));
  const auto silent = stub_->Infer(&context);
  v1::VolumeResponse none;
  EXPECT_FALSE(silent->Read(&none));
  EXPECT_THAT(silent->Finish().error_message(), testing::HasSubstr("neither sent nor took anything for too long"));
}

TEST_F(VolumeCallTest, AClientThatSendsNothingIsLetGo) {
  MovedClock clock;
  ListenOptions timed = options();
  timed.clock = clock.now();
  start(timed);
  stub_ = v1::Volumes::NewStub(channel_);
  VolumeClient client(*stub_);
  client.stream->Write(header());
  v1::VolumeResponse accepted;
  ASSERT_TRUE(client.stream->Read(&accepted));
  clock.pass_until([this] { return !records().empty(); });
  EXPECT_FALSE(client.finish().ok());
  while (models_.leased() != 0) std::this_thread::yield();
  expect_alive();
}

}  // namespace
}  // namespace znni::rpc
