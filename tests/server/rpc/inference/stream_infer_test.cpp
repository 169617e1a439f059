#include "server/rpc/inference/stream_infer.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "proto/inference.grpc.pb.h"
#include "tests/server/rpc/loopback.hpp"
#include "tests/server/rpc/wire.hpp"

namespace znni::rpc {
namespace {

using grpc::StatusCode;
using inference::ModelInferRequest;
using inference::ModelStreamInferResponse;
using testing::HasSubstr;

class StreamInferTest : public Loopback {
 protected:
  void SetUp() override { open(options()); }
  void open(const ListenOptions& given) {
    start(given);
    stub_ = inference::GRPCInferenceService::NewStub(channel_);
  }
  std::unique_ptr<grpc::ClientReaderWriter<ModelInferRequest, ModelStreamInferResponse>> stream() {
    return stub_->ModelStreamInfer(&context_);
  }
  static ModelInferRequest named(const std::string& id, const std::string& model = "twice") {
    ModelInferRequest request = twice_request();
    request.set_id(id);
    request.set_model_name(model);
    return request;
  }
  void expect_memory_is_free() {
    while (models_.leased() != 0) std::this_thread::yield();
  }

  std::unique_ptr<inference::GRPCInferenceService::Stub> stub_;
  grpc::ClientContext context_;
  ModelStreamInferResponse response_;
};

// A message that does not parse is answered like any other bad request: it is not taken for the end.
TEST_F(StreamInferTest, AMessageThatIsNoneIsAnsweredAndTheNextIsServed) {
  const grpc::internal::RpcMethod method("/inference.GRPCInferenceService/ModelStreamInfer",
                                         grpc::internal::RpcMethod::BIDI_STREAMING, channel_);
  using Factory = grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, ModelStreamInferResponse>;
  const std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, ModelStreamInferResponse>> calls(
      Factory::Create(channel_.get(), method, &context_));
  ASSERT_TRUE(calls->Write(wire_of(std::string("\x0a\x05net"))));
  ASSERT_TRUE(calls->Write(wire_of(named("b"))));
  calls->WritesDone();
  ASSERT_TRUE(calls->Read(&response_));
  EXPECT_EQ(response_.error_message(), "the message is not a ModelInferRequest");
  ASSERT_TRUE(calls->Read(&response_));
  EXPECT_EQ(response_.infer_response().id(), "b");
  EXPECT_TRUE(calls->Finish().ok());
  ASSERT_EQ(records().size(), 2U);
  EXPECT_EQ(records()[0].code, "INVALID_ARGUMENT");
}

TEST_F(StreamInferTest, OneResponsePerRequestInOrder) {
  const auto calls = stream();
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(calls->Write(named(id)));
  calls->WritesDone();
  for (const char* id : {"a", "b", "c"}) {
    ASSERT_TRUE(calls->Read(&response_));
    EXPECT_EQ(response_.error_message(), "");
    EXPECT_EQ(response_.infer_response().id(), id);
    EXPECT_TRUE(response_.infer_response().parameters().at("triton_final_response").bool_param());
    EXPECT_TRUE(is_twice(response_.infer_response().raw_output_contents(0),
                         {2, {4, 3, 2}, ElementType::f32, VolumeOrder::channel_major}));
  }
  EXPECT_FALSE(calls->Read(&response_));
  EXPECT_TRUE(calls->Finish().ok());
  expect_memory_is_free();
  ASSERT_EQ(records().size(), 3U);
  EXPECT_EQ(records()[0].method, "ModelStreamInfer");
}

TEST_F(StreamInferTest, AnErrorIsTheRequestsNotTheStreams) {
  const auto calls = stream();
  ASSERT_TRUE(calls->Write(named("bad", "none")));
  ASSERT_TRUE(calls->Write(named("good")));
  calls->WritesDone();
  ASSERT_TRUE(calls->Read(&response_));
  EXPECT_THAT(response_.error_message(), HasSubstr("Request for unknown model"));
  EXPECT_EQ(response_.infer_response().id(), "bad");
  ASSERT_TRUE(calls->Read(&response_));
  EXPECT_EQ(response_.error_message(), "");
  EXPECT_TRUE(calls->Finish().ok());
}

TEST_F(StreamInferTest, WhoAsksForStatusesGetsThem) {
  context_.AddMetadata("triton_grpc_error", "true");
  const auto calls = stream();
  ASSERT_TRUE(calls->Write(named("bad", "none")));
  calls->WritesDone();
  EXPECT_FALSE(calls->Read(&response_));
  EXPECT_EQ(calls->Finish().error_code(), StatusCode::NOT_FOUND);
  expect_memory_is_free();
}

TEST_F(StreamInferTest, ItsMemoryIsHeldFromTheStartOrRefused) {
  const Result<TransportLease> most = models_.lease(std::int64_t{60} << 20);
  ASSERT_TRUE(most);
  const auto calls = stream();
  EXPECT_FALSE(calls->Read(&response_));
  const grpc::Status status = calls->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("12.00 MiB of transport memory"));
  ASSERT_EQ(records().size(), 1U);
  EXPECT_EQ(records()[0].refusal, "memory");
}

TEST_F(StreamInferTest, ACancelledStreamStopsItsJob) {
  models_.hold(FakeModelServer::Hold::patches);
  const auto calls = stream();
  ASSERT_TRUE(calls->Write(named("a")));
  models_.wait_for_jobs(1);
  context_.TryCancel();
  EXPECT_EQ(calls->Finish().error_code(), StatusCode::CANCELLED);
  while (models_.stopped_jobs == 0) std::this_thread::yield();
  expect_memory_is_free();
}

TEST_F(StreamInferTest, AnIdleStreamIsEnded) {
  ListenOptions impatient = options();
  impatient.stall_seconds = 0.05;
  open(impatient);
  const auto calls = stream();
  EXPECT_FALSE(calls->Read(&response_));
  const grpc::Status status = calls->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_THAT(status.error_message(), HasSubstr("neither sent nor took anything"));
  expect_memory_is_free();
}

TEST_F(StreamInferTest, AnIdleStreamDoesNotHoldUpADrain) {
  context_.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(10));
  const auto calls = stream();
  ASSERT_TRUE(calls->Write(named("a")));
  ASSERT_TRUE(calls->Read(&response_));
  server_->drain(1e6);
  EXPECT_FALSE(calls->Read(&response_));
  const grpc::Status status = calls->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("shutting down"));
  EXPECT_EQ(records().size(), 1U) << "none was refused";
  expect_memory_is_free();
}

TEST_F(StreamInferTest, ARequestUnderWayIsAnsweredWhileItDrains) {
  models_.hold(FakeModelServer::Hold::patches);
  context_.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(10));
  const auto calls = stream();
  ASSERT_TRUE(calls->Write(named("a")));
  models_.wait_for_jobs(1);
  server_->close();
  const std::jthread drain([this] { server_->drain(600); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // several looks at the stream
  models_.hold(FakeModelServer::Hold::nothing);
  ASSERT_TRUE(calls->Read(&response_));
  EXPECT_EQ(response_.error_message(), "");
  EXPECT_EQ(response_.infer_response().id(), "a");
  EXPECT_FALSE(calls->Read(&response_));
  EXPECT_EQ(calls->Finish().error_code(), StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace znni::rpc
