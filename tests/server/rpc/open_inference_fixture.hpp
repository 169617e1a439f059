// A stock client's stub of a server over a fake ModelServer.
#pragma once

#include <chrono>
#include <memory>

#include "proto/inference.grpc.pb.h"
#include "tests/server/rpc/loopback.hpp"

namespace znni::rpc {

class OpenInferenceTest : public Loopback {
 protected:
  void SetUp() override { connect(options()); }
  void connect(const ListenOptions& given) {
    start(given);
    stub_ = inference::GRPCInferenceService::NewStub(channel_);
  }
  // Fails after ten minutes rather than wait for an answer that does not come.
  grpc::Status infer(const inference::ModelInferRequest& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(10));
    return stub_->ModelInfer(&context, request, &response_);
  }
  void expect_alive() {
    EXPECT_TRUE(infer(twice_request()).ok());
    EXPECT_TRUE(
        is_twice(response_.raw_output_contents(0), {2, {4, 3, 2}, ElementType::f32, VolumeOrder::channel_major}));
  }

  std::unique_ptr<inference::GRPCInferenceService::Stub> stub_;
  inference::ModelInferResponse response_;
};

}  // namespace znni::rpc
