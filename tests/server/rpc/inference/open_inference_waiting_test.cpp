// Calls that wait: for their turn to be received, in the queue, between patches; and what ends that.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "server/rpc/calls/front_door.hpp"
#include "tests/server/jobs/wait_until.hpp"
#include "tests/server/rpc/http2_frames.hpp"
#include "tests/server/rpc/moved_clock.hpp"
#include "tests/server/rpc/open_inference_fixture.hpp"
#include "tests/server/rpc/tcp_client.hpp"

namespace znni::rpc {
namespace {

using grpc::StatusCode;
using testing::HasSubstr;
using Hold = FakeModelServer::Hold;

// Runs a request against a server that holds it, from a thread of its own.
class HeldCall {
 public:
  HeldCall(inference::GRPCInferenceService::Stub& stub, const inference::ModelInferRequest& request,
           std::chrono::milliseconds deadline = std::chrono::minutes(10)) {
    context_.set_deadline(std::chrono::system_clock::now() + deadline);
    thread_ = std::jthread([this, &stub, request] { status_ = stub.ModelInfer(&context_, request, &response_); });
  }
  void cancel() { context_.TryCancel(); }
  grpc::Status wait() {
    thread_.join();
    return status_;
  }

 private:
  grpc::ClientContext context_;
  inference::ModelInferResponse response_;
  grpc::Status status_;
  std::jthread thread_;
};

class OpenInferenceWaitingTest : public OpenInferenceTest {
 protected:
  // Waits until each call has been asked about once more: the last of them is this one's own.
  void wait_for_the_watch() {
    std::atomic<int> asked = 0;
    const WatchedCall own = server_->front_door().watch.watch([&asked]() -> std::optional<Error> {
      ++asked;
      return std::nullopt;
    });
    while (asked < 2) std::this_thread::yield();
  }
};

class OpenInferenceStopTest : public OpenInferenceTest, public testing::WithParamInterface<Hold> {
 protected:
  void SetUp() override {
    OpenInferenceTest::SetUp();
    models_.hold(GetParam());
  }
  // Expects that the job itself was stopped and its memory given back, not just the caller told.
  void expect_stopped() {
    EXPECT_TRUE(test::wait_until([this] { return models_.stopped_jobs > 0 && models_.leased() == 0; }));
    models_.hold(Hold::nothing);
    expect_alive();
  }
};

TEST_P(OpenInferenceStopTest, ACancelStopsTheJob) {
  HeldCall call(*stub_, twice_request());
  models_.wait_for_jobs(1);
  call.cancel();
  EXPECT_EQ(call.wait().error_code(), StatusCode::CANCELLED);
  expect_stopped();
}

// A call whose job has not begun in its time, on a busy machine, is followed by one that has more.
TEST_P(OpenInferenceStopTest, ADeadlineStopsTheJob) {
  const auto has_begun = [this] { return models_.last_priority >= 0; };
  for (std::chrono::milliseconds deadline(300); !has_begun(); deadline *= 2) {
    HeldCall call(*stub_, twice_request(), deadline);
    EXPECT_EQ(call.wait().error_code(), StatusCode::DEADLINE_EXCEEDED);
  }
  expect_stopped();
}

INSTANTIATE_TEST_SUITE_P(QueuedOrComputing, OpenInferenceStopTest, testing::Values(Hold::queue, Hold::patches));

TEST_F(OpenInferenceWaitingTest, TheTimeoutCountsInTheQueue) {
  models_.hold(Hold::queue);
  inference::ModelInferRequest request = twice_request();
  (*request.mutable_parameters())["timeout"].set_int64_param(20'000);
  const grpc::Status status = infer(request);
  EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(status.error_message(), HasSubstr("Request timeout expired"));
  EXPECT_EQ(models_.stopped_jobs, 1);
}

TEST_F(OpenInferenceWaitingTest, TheTimeoutCountsAgainWhereTheJobThatOneRanWithFailed) {
  models_.hold(Hold::queue);
  models_.host_fails = true;
  inference::ModelInferRequest request = twice_request();
  (*request.mutable_parameters())["timeout"].set_int64_param(20'000);
  const grpc::Status status = infer(request);
  EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(status.error_message(), HasSubstr("Request timeout expired"));
}

TEST_F(OpenInferenceWaitingTest, TheTimeoutDoesNotCountOnceComputing) {
  MovedClock clock;
  ListenOptions timed = options();
  timed.clock = clock.now();
  connect(timed);
  models_.hold(Hold::patches);
  std::latch in_turn(1);
  models_.after_turn = [&in_turn] { in_turn.count_down(); };
  inference::ModelInferRequest request = twice_request();
  (*request.mutable_parameters())["timeout"].set_int64_param(50'000);
  HeldCall call(*stub_, request);
  in_turn.wait();
  clock.advance(std::chrono::hours(1));
  wait_for_the_watch();
  models_.hold(Hold::nothing);
  EXPECT_EQ(call.wait().error_code(), StatusCode::OK);
}

TEST_F(OpenInferenceWaitingTest, ProbesAnswerWhileVolumesWait) {
  constexpr int most = 64;
  ListenOptions one_client = options();
  one_client.max_calls = most;
  one_client.client_share = 1;
  connect(one_client);
  models_.hold(Hold::patches);
  std::vector<std::unique_ptr<HeldCall>> calls;
  for (int i = 0; i < most; ++i) calls.push_back(std::make_unique<HeldCall>(*stub_, twice_request()));
  models_.wait_for_jobs(most);
  grpc::ClientContext context;
  inference::ServerLiveResponse live;
  EXPECT_TRUE(stub_->ServerLive(&context, {}, &live).ok());
  const grpc::Status one_too_many = infer(twice_request());
  EXPECT_EQ(one_too_many.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(one_too_many.error_message(), HasSubstr("at most 64"));
  models_.hold(Hold::nothing);
  for (auto& call : calls) EXPECT_TRUE(call->wait().ok());
}

TEST_F(OpenInferenceWaitingTest, AClientHasItsShareAndLeavesTheOthersTheirs) {
  ListenOptions few = options();
  few.max_calls = 4;
  connect(few);
  models_.hold(Hold::patches);
  std::vector<std::unique_ptr<HeldCall>> calls;
  for (int i = 0; i < 2; ++i) calls.push_back(std::make_unique<HeldCall>(*stub_, twice_request()));
  models_.wait_for_jobs(2);
  const grpc::Status one_too_many = infer(twice_request());
  EXPECT_EQ(one_too_many.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(one_too_many.error_message(), HasSubstr("2 requests of the client 127.0.0.1 are in flight, at most 2"));
  EXPECT_EQ(records().front().refusal, "client_calls");
  EXPECT_TRUE(server_->front_door().gate.enter("192.0.2.1")) << "another client";
  models_.hold(Hold::nothing);
  for (auto& call : calls) EXPECT_TRUE(call->wait().ok());
}

class OneReceiveTest : public OpenInferenceTest {
 protected:
  void SetUp() override {
    ListenOptions one = options();
    one.max_receives = 1;
    connect(one);
  }
};

TEST_F(OneReceiveTest, ATurnEndsWhenTheMessageIsLeasedNotWhenItIsComputed) {
  models_.hold(Hold::patches);
  HeldCall first(*stub_, twice_request());
  HeldCall second(*stub_, twice_request());
  models_.wait_for_jobs(2);
  models_.hold(Hold::nothing);
  EXPECT_TRUE(first.wait().ok());
  EXPECT_TRUE(second.wait().ok());
}

TEST_F(OneReceiveTest, ARefusedMessageGivesItsTurnBack) {
  const Result<TransportLease> all = models_.lease(std::int64_t{64} << 20);
  ASSERT_TRUE(all) << all.error().message;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(infer(twice_request()).error_code(), StatusCode::RESOURCE_EXHAUSTED);
}

// A silent call, whose connection seems to bring something: its message alone does not come.
class SilentCallerTest : public OpenInferenceTest {
 protected:
  void SetUp() override {
    ListenOptions timed = options();
    timed.max_receives = 1;
    timed.clock = clock_.now();
    timed.received = [this](const std::string&, const std::optional<Received>&) -> std::optional<Received> {
      is_waited_for_ = true;
      return std::nullopt;
    };
    connect(timed);
  }

  MovedClock clock_;
  std::atomic<bool> is_waited_for_ = false;
};

TEST_F(SilentCallerTest, KeepsItsTurnForALimitedTime) {
  const grpc::internal::RpcMethod method("/inference.GRPCInferenceService/ModelInfer",
                                         grpc::internal::RpcMethod::BIDI_STREAMING, channel_);
  using Factory =
      grpc::internal::ClientReaderWriterFactory<inference::ModelInferRequest, inference::ModelInferResponse>;
  grpc::ClientContext context;
  const std::unique_ptr<grpc::ClientReaderWriter<inference::ModelInferRequest, inference::ModelInferResponse>> silent(
      Factory::Create(channel_.get(), method, &context));
  ASSERT_TRUE(test::wait_until([this] { return is_waited_for_.load(); })) << "it has the turn";
  HeldCall next(*stub_, twice_request());
  clock_.advance(std::chrono::hours(1));
  EXPECT_TRUE(next.wait().ok()) << "waits for the turn";
  EXPECT_FALSE(silent->Finish().ok());
  ASSERT_TRUE(test::wait_until([this] { return records().size() == 2; }));
  const auto reason = testing::Field(&CallRecord::reason, HasSubstr("neither sent nor took anything for too long"));
  EXPECT_THAT(records(),
              testing::Contains(testing::AllOf(testing::Field(&CallRecord::code, "DEADLINE_EXCEEDED"), reason)));
}

TEST_F(SilentCallerTest, GivesItsTurnBackBeforeItIsKnownWhyNothingCame) {
  const TcpClient ending(server_->port());
  ending.send(http2_begin() + calls_without_messages(1));
  ASSERT_TRUE(test::wait_until([this] { return is_waited_for_.load(); })) << "it has the turn";
  ending.send(http2_frame(data_frame, end_of_stream, 1, ""));
  EXPECT_TRUE(infer(twice_request()).ok()) << "waits for the turn, while no time passes";
  clock_.pass_until([this] { return records().size() == 2; });
  EXPECT_THAT(records(), testing::Contains(testing::AllOf(
                             testing::Field(&CallRecord::code, "INVALID_ARGUMENT"),
                             testing::Field(&CallRecord::reason, HasSubstr("ended without a ModelInferRequest")))));
}

// A caller who goes while its message is read. Windows are small beside messages.
class LeavingCallerTest : public OpenInferenceTest {
 protected:
  void SetUp() override {
    ListenOptions small_windows = options();
    small_windows.max_buffered_bytes = 64 << 20;
    small_windows.received = [this](const std::string&, const std::optional<Received>& of_system) {
      ++asked_;
      return of_system;
    };
    connect(small_windows);
  }
  // Waits until a message is read, which asks again and again.
  void wait_for_reading() {
    const int before = asked_;
    ASSERT_TRUE(test::wait_until([this, before] { return asked_ > before; }));
  }
  void expect_gone(std::size_t record) {
    ASSERT_TRUE(test::wait_until([this, record] { return records().size() > record; }));
    EXPECT_EQ(records()[record].code, "CANCELLED");
    EXPECT_EQ(records()[record].refusal, "");
  }
  // Begins a call on the channel that has served others, and leaves it while its message is read.
  void break_off() {
    const grpc::internal::RpcMethod method("/inference.GRPCInferenceService/ModelInfer",
                                           grpc::internal::RpcMethod::BIDI_STREAMING, channel_);
    using Factory =
        grpc::internal::ClientReaderWriterFactory<inference::ModelInferRequest, inference::ModelInferResponse>;
    grpc::ClientContext context;
    const std::unique_ptr<grpc::ClientReaderWriter<inference::ModelInferRequest, inference::ModelInferResponse>> silent(
        Factory::Create(channel_.get(), method, &context));
    wait_for_reading();
    context.TryCancel();
    EXPECT_FALSE(silent->Finish().ok());
  }
  static std::string begun_call() {
    using namespace std::string_literals;
    return http2_begin() + calls_without_messages(1) + http2_frame(data_frame, 0, 1, "\0\0\0\x10\0half"s);
  }

  std::atomic<int> asked_ = 0;
};

TEST_F(LeavingCallerTest, IsNotRefused) {
  TcpClient closing(server_->port());
  closing.send(begun_call());
  wait_for_reading();
  closing.close();
  expect_gone(0);
  const TcpClient resetting(server_->port());
  resetting.send(begun_call());
  wait_for_reading();
  resetting.send(http2_reset(1));
  expect_gone(1);
}

TEST_F(LeavingCallerTest, IsNotTakenForTheMessagesBeforeItsOwn) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(infer(twice_request({80, 80, 75})).ok()) << "of 4 MiB half";
  break_off();
  expect_gone(3);
}

// More bytes come before its message than a message may have, but less than a window.
TEST_F(LeavingCallerTest, IsNotTakenForALargeMessageWhereMessagesAreSmall) {
  ListenOptions small_messages = options();
  small_messages.max_message_bytes = 1000;
  small_messages.received = [this](const std::string&, const std::optional<Received>& of_system) {
    ++asked_;
    return of_system;
  };
  connect(small_messages);
  EXPECT_EQ(infer(twice_request({80, 80, 160})).error_code(), StatusCode::RESOURCE_EXHAUSTED) << "of 4 MiB";
  ASSERT_TRUE(test::wait_until([this] { return records().size() == 1; }));
  EXPECT_EQ(records()[0].refusal, "too_large");
  EXPECT_THAT(records()[0].reason, HasSubstr(" bytes, at most 1000 of voxels are taken in one message"));
  break_off();
  expect_gone(1);
}

TEST_F(LeavingCallerTest, IsAnotherThanOneWhoseMessageIsTooLarge) {
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(infer(twice_request({100, 120, 100})).error_code(), StatusCode::RESOURCE_EXHAUSTED);
    ASSERT_TRUE(test::wait_until([this, i] { return records().size() > i; }));
    EXPECT_EQ(records()[i].code, "RESOURCE_EXHAUSTED");
    EXPECT_EQ(records()[i].refusal, "too_large");
    EXPECT_THAT(records()[i].reason, HasSubstr("more than 4194304 bytes"));
  }
}

TEST(FrontDoorLimits, GiveALargeMessageMoreTime) {
  FrontDoorLimits limits;
  limits.stall_seconds = 120;
  EXPECT_EQ(limits.seconds_for(0), 120);
  EXPECT_EQ(limits.seconds_for(256'000'000), 376);
  limits.silent_seconds = 20;
  EXPECT_EQ(limits.seconds_for_body(0), 20);
  EXPECT_EQ(limits.seconds_for_body(256'000'000), 276);
}

TEST(FrontDoorLimits, GiveAClientItsShareAndAtLeastOne) {
  FrontDoorLimits limits;
  EXPECT_EQ(limits.share_of(64), 32);
  EXPECT_EQ(limits.share_of(3), 2);
  limits.client_share = 0.1;
  EXPECT_EQ(limits.share_of(1), 1);
  limits.client_share = 1;
  EXPECT_EQ(limits.share_of(64), 64);
}

}  // namespace
}  // namespace znni::rpc
