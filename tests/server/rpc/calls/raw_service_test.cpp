#include "server/rpc/calls/raw_service.hpp"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/impl/client_unary_call.h>

#include <string>

#include "proto/inference.grpc.pb.h"
#include "proto/volumes.pb.h"
#include "tests/server/rpc/loopback.hpp"
#include "tests/server/rpc/wire.hpp"

namespace znni::rpc {
namespace {

using grpc::StatusCode;
using testing::HasSubstr;

// Whatever bytes as messages, of a server with every method.
class RawServiceTest : public Loopback {
 protected:
  grpc::Status send(const std::string& path, const std::string& bytes) {
    const grpc::internal::RpcMethod method(path.c_str(), grpc::internal::RpcMethod::NORMAL_RPC, channel_);
    grpc::ClientContext context;
    const grpc::ByteBuffer request = wire_of(bytes);
    grpc::ByteBuffer response;
    const grpc::Status status =
        grpc::internal::BlockingUnaryCall<grpc::ByteBuffer, grpc::ByteBuffer, grpc::ByteBuffer, grpc::ByteBuffer>(
            channel_.get(), method, &context, request, &response);
    is_marked_ = context.GetServerTrailingMetadata().contains("answered-by");
    return status;
  }
  grpc::Status send_live(const std::string& bytes) { return send("/inference.GRPCInferenceService/ServerLive", bytes); }

  bool is_marked_ = false;  // the last status, as ours
};

TEST_F(RawServiceTest, EveryMethodOfTheProtocolsIsThere) {
  for (const google::protobuf::FileDescriptor* file :
       {inference::ModelInferRequest::descriptor()->file(), v1::VolumeRequest::descriptor()->file()}) {
    const google::protobuf::ServiceDescriptor& service = *file->service(0);
    for (int i = 0; i < service.method_count(); ++i) {
      const grpc::Status status = send("/" + service.full_name() + "/" + service.method(i)->name(), "");
      const bool is_there = status.error_code() != StatusCode::UNIMPLEMENTED || !status.error_message().empty();
      EXPECT_TRUE(is_there) << service.method(i)->full_name();
      EXPECT_TRUE(is_marked_) << service.method(i)->full_name();
    }
  }
  EXPECT_EQ(send("/inference.GRPCInferenceService/Other", "").error_message(), "");
  EXPECT_FALSE(is_marked_);
}

TEST_F(RawServiceTest, AMessageThatIsNoneIsTheCallersMistake) {
  const grpc::Status status = send_live("\x0a\x05net");
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "the message is not a ServerLiveRequest");
}

// Unknown fields, of two bytes each, become a hundred each.
TEST_F(RawServiceTest, SmallMethodsTakeSmallMessages) {
  std::string unknown;
  for (int i = 0; i < 100; ++i) unknown += "\x7a" + std::string(1, '\0');
  EXPECT_TRUE(send_live(unknown).ok()) << "a newer client's";
  while (unknown.size() < max_small_message_bytes / 10) unknown += unknown;
  const grpc::Status status = send_live(unknown);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("would take more than 1.00 MiB of memory"));
}

TEST_F(RawServiceTest, CompressedMessagesAreRefused) {
  const auto stub = inference::GRPCInferenceService::NewStub(channel_);
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  inference::ModelReadyRequest request;
  request.set_name(std::string(100'000, 'n'));
  inference::ModelReadyResponse response;
  const grpc::Status status = stub->ModelReady(&context, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED);
  EXPECT_THAT(status.error_message(), HasSubstr("gzip"));
}

}  // namespace
}  // namespace znni::rpc
