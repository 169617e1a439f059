#include "server/rpc/calls/small_call.hpp"

#include <gmock/gmock.h>

#include "proto/inference.grpc.pb.h"
#include "tests/server/jobs/wait_until.hpp"
#include "tests/server/rpc/http2_frames.hpp"
#include "tests/server/rpc/loopback.hpp"
#include "tests/server/rpc/moved_clock.hpp"
#include "tests/server/rpc/tcp_client.hpp"

namespace znni::rpc {
namespace {

constexpr const char* metadata = "/inference.GRPCInferenceService/ServerMetadata";

class SmallCallTest : public Loopback {
 protected:
  grpc::Status live() {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(10));
    inference::ServerLiveResponse response;
    return inference::GRPCInferenceService::NewStub(channel_)->ServerLive(&context, {}, &response);
  }
  // Returns how many calls of the client 127.0.0.1 may come in yet, at most `most`.
  int places(int most) {
    std::vector<CallPass> passes;
    while (static_cast<int>(passes.size()) < most) {
      Result<CallPass> pass = server_->front_door().small_gate.enter("127.0.0.1");
      if (!pass) break;
      passes.push_back(*std::move(pass));
    }
    return static_cast<int>(passes.size());
  }
};

// Takes none of the answers: each call keeps a thread.
TEST_F(SmallCallTest, AClientThatTakesNoAnswersKeepsItsShareAlone) {
  ListenOptions patient = options();
  patient.silent_seconds = 3600;
  start(patient);
  const FrontDoorLimits& limits = server_->front_door().limits;
  const int share = limits.share_of(limits.max_small_calls);
  const TcpClient attacker(server_->port());
  attacker.send(http2_begin(http2_no_window()) + calls_with_empty_messages(200, metadata));
  // Asks for places only then: those that it takes to count them would be missing to calls that come.
  ASSERT_TRUE(test::wait_until([&] { return static_cast<int>(records().size()) == 200 - share; }));
  EXPECT_EQ(places(share), 0);
  EXPECT_EQ(records().back().method, "ServerMetadata");
  EXPECT_EQ(records().back().refusal, "client_calls");
  EXPECT_EQ(live().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << "of the same address";
  EXPECT_TRUE(server_->front_door().small_gate.enter("192.0.2.1")) << "another one";
}

TEST_F(SmallCallTest, AnAnswerThatNobodyTakesIsGivenUp) {
  MovedClock clock;
  ListenOptions timed = options();
  timed.clock = clock.now();
  start(timed);
  const TcpClient attacker(server_->port());
  attacker.send(http2_begin(http2_no_window()) + calls_with_empty_messages(200, metadata));
  ASSERT_TRUE(test::wait_until([this] { return !records().empty(); })) << "its share is used up";
  clock.pass_until([this] { return live().ok(); });
}

}  // namespace
}  // namespace znni::rpc
