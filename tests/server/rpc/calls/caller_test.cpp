#include "server/rpc/calls/caller.hpp"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

#include "proto/health.grpc.pb.h"

namespace znni::rpc {
namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

// Stays in its call until the caller is gone, and keeps why.
class PatientService final : public Health::Service {
 public:
  grpc::Status Check(grpc::ServerContext* context, const HealthCheckRequest* /*request*/,
                     HealthCheckResponse* /*response*/) override {
    entered.set_value(gone(*context).has_value());
    std::optional<Error> error;
    const GrpcCaller caller(*context);
    EXPECT_TRUE(caller.peer().starts_with("ipv4:127.0.0.1:")) << caller.peer();
    while (!(error = caller.gone())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    reason.set_value(*error);
    return grpc::Status::OK;
  }
  std::promise<bool> entered;  // whether the caller was gone at once
  std::promise<Error> reason;
};

class CallerTest : public testing::Test {
 protected:
  void SetUp() override {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    stub_ =
        Health::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
    call_ = std::jthread([this] {
      if (deadline_.count() > 0) context_.set_deadline(std::chrono::system_clock::now() + deadline_);
      HealthCheckResponse response;
      stub_->Check(&context_, {}, &response);
    });
  }
  void TearDown() override {
    call_.join();
    server_->Shutdown();
  }

  PatientService service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Health::Stub> stub_;
  std::chrono::milliseconds deadline_{0};
  grpc::ClientContext context_;
  std::jthread call_;
};

class CallerWithDeadline : public CallerTest {
 protected:
  CallerWithDeadline() { deadline_ = std::chrono::milliseconds(200); }
};

TEST_F(CallerTest, IsThereUntilItCancels) {
  EXPECT_FALSE(service_.entered.get_future().get());
  context_.TryCancel();
  EXPECT_EQ(service_.reason.get_future().get().code, ErrorCode::cancelled);
}

TEST_F(CallerWithDeadline, IsGoneWhenItHasPassed) {
  EXPECT_FALSE(service_.entered.get_future().get());
  EXPECT_EQ(service_.reason.get_future().get().code, ErrorCode::deadline_exceeded);
}

}  // namespace
}  // namespace znni::rpc
