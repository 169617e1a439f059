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
  expect_refused(ask(&Stub::CudaSharedMemoryRegister), "CUDA shared memory is not offered");
  expect_refused(ask(&Stub::TraceSetting), "tracing");
}

TEST_F(UnofferedMethodsTest, OfCudaMemoryThereIsNone) {
  EXPECT_TRUE(ask(&Stub::CudaSharedMemoryStatus).ok());
  EXPECT_TRUE(ask(&Stub::CudaSharedMemoryUnregister).ok());
  const std::unique_ptr<Stub> stub = inference::GRPCInferenceService::NewStub(channel_);
  grpc::ClientContext context;
  inference::CudaSharedMemoryStatusRequest one;
  one.set_name("weights");
  inference::CudaSharedMemoryStatusResponse response;
  EXPECT_EQ(stub->CudaSharedMemoryStatus(&context, one, &response).error_code(), grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace znni::rpc
