#include "server/rpc/server.hpp"

#include <gmock/gmock.h>
#include <grpcpp/impl/client_unary_call.h>

#include <thread>

#include "proto/health.grpc.pb.h"
#include "proto/inference.grpc.pb.h"
#include "server/rpc/connections/listening_points.hpp"
#include "tests/server/rpc/http2_frames.hpp"
#include "tests/server/rpc/loopback.hpp"
#include "tests/server/rpc/tcp_client.hpp"
#include "tests/server/rpc/wire.hpp"

namespace znni::rpc {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class ServerTest : public Loopback {
 protected:
  HealthCheckResponse::ServingStatus health(const std::string& service) {
    const auto stub = Health::NewStub(channel_);
    grpc::ClientContext context;
    HealthCheckRequest request;
    request.set_service(service);
    HealthCheckResponse response;
    const grpc::Status status = stub->Check(&context, request, &response);
    return status.ok() ? response.status() : HealthCheckResponse::SERVICE_UNKNOWN;
  }
  grpc::Status infer(const inference::ModelInferRequest& request, inference::ModelInferResponse& response) {
    grpc::ClientContext context;
    return inference::GRPCInferenceService::NewStub(channel_)->ModelInfer(&context, request, &response);
  }
  bool is_ready() {
    grpc::ClientContext context;
    inference::ServerReadyResponse ready;
    EXPECT_TRUE(inference::GRPCInferenceService::NewStub(channel_)->ServerReady(&context, {}, &ready).ok());
    return ready.ready();
  }
  bool is_model_ready() {
    grpc::ClientContext context;
    inference::ModelReadyRequest request;
    request.set_name("twice");
    inference::ModelReadyResponse ready;
    EXPECT_TRUE(inference::GRPCInferenceService::NewStub(channel_)->ModelReady(&context, request, &ready).ok());
    return ready.ready();
  }
  void wait_for_health(HealthCheckResponse::ServingStatus expected) {
    while (health("") != expected) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
};

TEST_F(ServerTest, HealthFollowsReadiness) {
  wait_for_health(HealthCheckResponse::SERVING);
  EXPECT_EQ(health("inference.GRPCInferenceService"), HealthCheckResponse::SERVING);
  EXPECT_EQ(health("znni.v1.Volumes"), HealthCheckResponse::SERVING);
  EXPECT_EQ(health("other"), HealthCheckResponse::SERVICE_UNKNOWN);
  models_.is_ready = false;
  wait_for_health(HealthCheckResponse::NOT_SERVING);
  models_.is_ready = true;
  wait_for_health(HealthCheckResponse::SERVING);
}

// gRPC would begin with 4 MiB whatever its memory, and make windows smaller later.
TEST_F(ServerTest, AClientMaySendAsMuchUnreadAsOneOfManyWindowsHolds) {
  const auto window = [this](std::int64_t buffered) {
    ListenOptions given = options();
    given.max_buffered_bytes = buffered;
    start(given);
    const TcpClient client(server_->port());
    client.send(http2_begin());
    const std::string head = client.receive(9);
    EXPECT_EQ(head.at(3), settings_frame);
    return http2_setting(client.receive(http2_number(head, 0, 3)), initial_window);
  };
  EXPECT_EQ(window(64 << 20), 256 << 10);
  EXPECT_EQ(window(std::int64_t{64} << 30), 4 << 20);
  EXPECT_EQ(window(0), 4 << 20);
}

// A server is not ready where one of its models is not; another model may be.
TEST_F(ServerTest, AModelIsReadyBesideOneThatIsNot) {
  models_.is_ready = false;
  EXPECT_FALSE(is_ready());
  EXPECT_TRUE(is_model_ready());
}

TEST_F(ServerTest, TellsWhatItOffersOnlyWhereAnybodyMayCall) {
  const auto reflects = [this](const Tokens& tokens) {
    ListenOptions given = options();
    given.tokens = tokens;
    start(given);
    const grpc::internal::RpcMethod method("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                                           grpc::internal::RpcMethod::NORMAL_RPC, channel_);
    grpc::ClientContext context;
    const grpc::ByteBuffer list =
        wire_of(std::string("\x3a"
                            "\x01*"));  // list_services
    grpc::ByteBuffer response;
    return grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer, grpc::ByteBuffer, grpc::ByteBuffer>(
               channel_.get(), method, &context, list, &response)
        .ok();
  };
  EXPECT_TRUE(reflects({}));
  EXPECT_TRUE(reflects({"", "manage"})) << "anybody may infer";
  EXPECT_FALSE(reflects({"infer", ""}));
}

TEST_F(ServerTest, APortInUseIsRefused) {
  ListenOptions same = options();
  same.port = server_->port();
  const Result<std::unique_ptr<Server>> second = Server::start(models_, record_, same);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::unavailable);
  EXPECT_THAT(second.error().message, testing::HasSubstr("port " + std::to_string(same.port) + " is in use"));
}

TEST_F(ServerTest, CertificatesThatAreNoneAreRefused) {
  ListenOptions other = options();
  other.certificates = Certificates{"no certificate", "no key", ""};
  const Result<std::unique_ptr<Server>> started = Server::start(models_, record_, other);
  ASSERT_FALSE(started);
  EXPECT_THAT(started.error().message, testing::HasSubstr("certificate and key are not those of a server"));
}

TEST_F(ServerTest, ItsOwnPortAnswersItAlsoWhereClientsHaveAllConnections) {
  ListenOptions few = options();
  few.connections = {2, 2};
  start(few);
  const TcpClient first(server_->port());
  const TcpClient second(server_->port());
  const TcpClient third(server_->port());
  EXPECT_TRUE(third.is_closed());
  const Result<void> answered = server_->ask_own_port(std::chrono::minutes(10));
  EXPECT_TRUE(answered) << answered.error().message;
  EXPECT_EQ(server_->connections().open, 2);
  EXPECT_EQ(server_->connections().refused_by_server, 1);
  server_->stop(0);
  EXPECT_FALSE(server_->ask_own_port(std::chrono::minutes(10)));
}

TEST_F(ServerTest, ConnectionsThatEndMakeRoom) {
  ListenOptions few = options();
  few.connections = {2, 2};
  start(few);
  {
    const TcpClient first(server_->port());
    const TcpClient second(server_->port());
    const TcpClient third(server_->port());
    EXPECT_TRUE(third.is_closed());
  }
  while (server_->connections().open > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(is_model_ready());
}

TEST_F(ServerTest, ANameIsRefusedWhereThePortOfOneOfItsAddressesIsInUse) {
  const std::vector<std::string> points = listening_points("localhost", server_->port());
  if (points.size() < 2) GTEST_SKIP() << "localhost stands for one address only";
  ListenOptions same = options();
  same.address = "localhost";
  same.port = server_->port();
  const Result<std::unique_ptr<Server>> second = Server::start(models_, record_, same);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::unavailable);
  EXPECT_THAT(second.error().message,
              testing::HasSubstr("cannot listen on 127.0.0.1:" + std::to_string(same.port) + ": port"));
}

TEST_F(ServerTest, AnyPortIsTheSameOnAllAddressesOfAName) {
  if (listening_points("localhost", 1).size() < 2) GTEST_SKIP() << "localhost stands for one address only";
  ListenOptions named = options();
  named.address = "localhost";
  start(named);
  for (const std::string& point : listening_points("localhost", server_->port())) {
    const auto stub =
        inference::GRPCInferenceService::NewStub(grpc::CreateChannel(point, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    inference::ServerLiveResponse live;
    EXPECT_TRUE(stub->ServerLive(&context, {}, &live).ok()) << point;
  }
}

TEST_F(ServerTest, ClosedItRefusesVolumesAndIsNotReady) {
  wait_for_health(HealthCheckResponse::SERVING);
  server_->close();
  wait_for_health(HealthCheckResponse::NOT_SERVING);
  inference::ModelInferResponse response;
  const grpc::Status status = infer(twice_request(), response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), testing::HasSubstr("shutting down"));
  EXPECT_FALSE(is_ready());
  EXPECT_FALSE(is_model_ready());
}

TEST_F(ServerTest, RetiredItIsNotReadyAndServes) {
  wait_for_health(HealthCheckResponse::SERVING);
  EXPECT_TRUE(is_model_ready());
  server_->retire();
  EXPECT_EQ(health(""), HealthCheckResponse::NOT_SERVING);
  EXPECT_FALSE(is_ready());
  EXPECT_FALSE(is_model_ready());
  inference::ModelInferResponse response;
  const grpc::Status status = infer(twice_request(), response);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

// Its volume is still on its way.
TEST_F(ServerTest, WhoIsInsideButNotInLineWhenItDrainsIsServed) {
  std::jthread drain;
  models_.after_estimate = [&] {
    if (drain.joinable()) return;
    drain = std::jthread([this] { server_->drain(600); });
    while (is_ready()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  inference::ModelInferResponse response;
  const grpc::Status status = infer(twice_request(), response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  drain.join();
  EXPECT_TRUE(models_.drained);
}

// More than stand in line at the same time.
TEST_F(ServerTest, ARequestOfManyVolumesIsServedToItsEndWhileItDrains) {
  constexpr std::int64_t batch = 1001;
  inference::ModelInferRequest request = twice_request(Vec3::cube(3), ElementType::u8, "UINT8");
  request.mutable_inputs(0)->set_shape(0, batch);
  std::string& volumes = *request.mutable_raw_input_contents(0);
  const std::string one = volumes;
  for (std::int64_t i = 1; i < batch; ++i) volumes += one;
  models_.hold(FakeModelServer::Hold::patches);
  inference::ModelInferResponse response;
  grpc::Status status;
  std::jthread call([&] { status = infer(request, response); });
  models_.wait_for_jobs(1);
  std::jthread drain([this] { server_->drain(600); });
  while (is_ready()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  models_.hold(FakeModelServer::Hold::nothing);
  call.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.raw_output_contents(0).size(), batch * 2 * sizeof(float));
  EXPECT_EQ(models_.came_together, 1U);
}

TEST_F(ServerTest, CallsInsideAreFinishedBeforeItStops) {
  models_.hold(FakeModelServer::Hold::patches);
  const auto stub = inference::GRPCInferenceService::NewStub(channel_);
  grpc::Status status;
  inference::ModelInferResponse response;
  std::jthread call([&] {
    grpc::ClientContext context;
    status = stub->ModelInfer(&context, twice_request(), &response);
  });
  models_.wait_for_jobs(1);
  server_->close();
  std::jthread release([&] { models_.hold(FakeModelServer::Hold::nothing); });
  server_->stop(600);
  call.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(is_twice(response.raw_output_contents(0), {2, {4, 3, 2}, ElementType::f32, VolumeOrder::channel_major}));
}

TEST_F(ServerTest, WhatDoesNotFinishInTimeIsEnded) {
  models_.hold(FakeModelServer::Hold::patches);
  const auto stub = inference::GRPCInferenceService::NewStub(channel_);
  grpc::Status status;
  std::jthread call([&] {
    grpc::ClientContext context;
    inference::ModelInferResponse response;
    status = stub->ModelInfer(&context, twice_request(), &response);
  });
  models_.wait_for_jobs(1);
  server_->stop(0.05);
  call.join();
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(models_.stopped_jobs, 1);
  EXPECT_EQ(models_.leased(), 0);
}

TEST_F(ServerTest, AddressesThatAreNotOursAreRefused) {
  for (const char* address : {"203.0.113.7", "no such name"}) {
    ListenOptions other = options();
    other.address = address;
    const Result<std::unique_ptr<Server>> started = Server::start(models_, record_, other);
    ASSERT_FALSE(started);
    EXPECT_THAT(started.error().message, testing::HasSubstr(address));
  }
}

}  // namespace
}  // namespace znni::rpc
