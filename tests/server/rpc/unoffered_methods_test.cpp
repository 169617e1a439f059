#include "server/rpc/unoffered_methods.hpp"

#include <gmock/gmock.h>

#include "tests/server/rpc/loopback.hpp"

namespace znni::rpc {
namespace {

using Stub = inference::GRPCInferenceService::Stub;

class UnofferedMethodsTest : public Loopback {
 protected:
  void expect_refused(const grpc::Status& status, const std::string& part) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
    EXPECT_THAT(status.error_message(), testing::HasSubstr(part));
  }
  template <class Request, class Response>
  grpc::Status ask(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*)) {
    const std::unique_ptr<Stub> stub = inference::GRPCInferenceService::NewStub(channel_);
    grpc::ClientContext context;
    Response response;
    return (stub.get()->*method)(&context, Request(), &response);
  }
};

TEST_F(UnofferedMethodsTest, EachSaysSoInWords) {
  expect_refused(ask(&Stub::RepositoryModelLoad), "at start only");
  expect_refused(ask(&Stub::RepositoryModelUnload), "at start only");
  expect_refused(ask(&Stub::SystemSharedMemoryStatus), "shared memory is not offered");
  expect_refused(ask(&Stub::SystemSharedMemoryRegister), "shared memory is not offered");
  expect_refused(ask(&Stub::SystemSharedMemoryUnregister), "shared memory is not offered");
  expect_refused(ask(&Stub::CudaSharedMemoryStatus), "shared memory is not offered");
  expect_refused(ask(&Stub::CudaSharedMemoryRegister), "shared memory is not offered");
  expect_refused(ask(&Stub::CudaSharedMemoryUnregister), "shared memory is not offered");
  expect_refused(ask(&Stub::TraceSetting), "tracing");
  expect_refused(ask(&Stub::LogSettings), "log settings");
}

TEST_F(UnofferedMethodsTest, StreamedInferenceNamesOurStream) {
  const auto stub = inference::GRPCInferenceService::NewStub(channel_);
  grpc::ClientContext context;
  const auto stream = stub->ModelStreamInfer(&context);
  stream->WritesDone();
  expect_refused(stream->Finish(), "znni.v1.Volumes");
}

}  // namespace
}  // namespace znni::rpc
