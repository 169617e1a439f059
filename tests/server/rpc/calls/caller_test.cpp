#include "server/rpc/calls/caller.hpp"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "proto/health.grpc.pb.h"
#include "tests/server/rpc/http2_frames.hpp"
#include "tests/server/rpc/tcp_client.hpp"

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

class PatientServer {
 public:
  PatientServer() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  ~PatientServer() { server_->Shutdown(); }
  PatientServer(const PatientServer&) = delete;
  PatientServer& operator=(const PatientServer&) = delete;

  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] PatientService& service() { return service_; }

 private:
  PatientService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST(Caller, IsThereUntilItCancels) {
  PatientServer server;
  const auto stub = Health::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(server.port()), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const std::jthread call([&] {
    HealthCheckResponse response;
    stub->Check(&context, {}, &response);
  });
  EXPECT_FALSE(server.service().entered.get_future().get());
  context.TryCancel();
  EXPECT_EQ(server.service().reason.get_future().get().code, ErrorCode::cancelled);
}

// Makes a call that only the server ends at its deadline: a client of the library might cancel it earlier.
std::string call_of(std::chrono::milliseconds time) {
  const std::string headers =
      http2_call("/grpc.health.v1.Health/Check") + http2_literal("grpc-timeout", std::to_string(time.count()) + "m");
  return http2_frame(headers_frame, end_of_headers, 1, headers) +
         http2_frame(data_frame, end_of_stream, 1, std::string(5, '\0'));
}

// One that does not begin in its time, on a busy machine, is followed by one that has more.
TEST(Caller, IsGoneWhenItsDeadlineHasPassed) {
  for (std::chrono::milliseconds time(200);; time *= 2) {
    PatientServer server;
    const TcpClient client(server.port());
    client.send(http2_begin() + call_of(time));
    std::future<bool> entered = server.service().entered.get_future();
    if (entered.wait_for(2 * time) != std::future_status::ready || entered.get()) continue;
    EXPECT_EQ(server.service().reason.get_future().get().code, ErrorCode::deadline_exceeded);
    return;
  }
}

}  // namespace
}  // namespace znni::rpc
