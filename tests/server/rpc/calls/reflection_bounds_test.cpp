#include "server/rpc/calls/reflection_bounds.hpp"

#include <gmock/gmock.h>

#include "tests/server/jobs/wait_until.hpp"
#include "tests/server/rpc/http2_frames.hpp"
#include "tests/server/rpc/open_inference_fixture.hpp"
#include "tests/server/rpc/tcp_client.hpp"

namespace znni::rpc {
namespace {

constexpr const char* reflection = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

class ReflectionBoundsTest : public OpenInferenceTest {
 protected:
  // Returns true if a client of 127.0.0.1 may have a stream more.
  bool has_place() { return server_->front_door().reflection_gate.enter("127.0.0.1").has_value(); }
  int share() {
    const FrontDoorLimits& limits = server_->front_door().limits;
    return limits.share_of(limits.max_reflections);
  }
};

TEST_F(ReflectionBoundsTest, IdleStreamsOfOneClientLeaveRoomForAllElse) {
  ListenOptions patient = options();
  patient.reflection_seconds = 3600;
  connect(patient);
  const TcpClient idle(server_->port());
  idle.send(http2_begin() + calls_without_messages(200, reflection));
  const auto refused = static_cast<std::size_t>(200 - share());
  ASSERT_TRUE(test::wait_until([&] { return records().size() == refused; }));
  EXPECT_EQ(records().front().method, "ServerReflection");
  EXPECT_EQ(records().front().code, "RESOURCE_EXHAUSTED");
  EXPECT_EQ(records().front().refusal, "client_calls");
  EXPECT_FALSE(has_place());
  EXPECT_TRUE(server_->front_door().reflection_gate.enter("192.0.2.1"));
  expect_alive();
}

TEST_F(ReflectionBoundsTest, AStreamEndsAfterAWhile) {
  ListenOptions short_ones = options();
  short_ones.reflection_seconds = 0.05;
  connect(short_ones);
  const grpc::internal::RpcMethod method(reflection, grpc::internal::RpcMethod::BIDI_STREAMING, channel_);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(10));
  using Factory = grpc::internal::ClientReaderWriterFactory<grpc::ByteBuffer, grpc::ByteBuffer>;
  const std::unique_ptr<grpc::ClientReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> idle(
      Factory::Create(channel_.get(), method, &context));
  grpc::ByteBuffer none;
  EXPECT_FALSE(idle->Read(&none));
  EXPECT_THAT(idle->Finish().error_message(), testing::HasSubstr("neither sent nor took anything for too long"));
  EXPECT_TRUE(test::wait_until([this] { return server_->front_door().reflection_gate.wait_empty(0); }));
  expect_alive();
}

TEST_F(ReflectionBoundsTest, AStreamThatEndsMakesRoom) {
  for (std::size_t i = 1; i <= 3; ++i) {
    TcpClient idle(server_->port());
    // One is refused, when all others are inside. Who asked for a place before would take it from one that comes.
    idle.send(http2_begin() + calls_without_messages(static_cast<std::uint32_t>(share() + 1), reflection));
    ASSERT_TRUE(test::wait_until([&] { return records().size() == i; }));
    EXPECT_FALSE(has_place());
    idle.close();
    ASSERT_TRUE(test::wait_until([this] { return server_->front_door().reflection_gate.wait_empty(0); }));
    EXPECT_TRUE(has_place());
  }
}

}  // namespace
}  // namespace znni::rpc
