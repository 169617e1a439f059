#include "server/rpc/inference/infer_exchange.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/rpc/requests.hpp"
#include "tests/server/rpc/wire.hpp"

namespace znni::rpc {
namespace {

using inference::ModelInferResponse;

class InferExchangeTest : public testing::Test {
 protected:
  static FrontDoorLimits limits() {
    FrontDoorLimits limits;
    limits.wire = {1 << 20, 1 << 20, 1 << 20};
    return limits;
  }
  static void admit(InferExchange& exchange, const inference::ModelInferRequest& request, bool leased) {
    grpc::ByteBuffer wire = wire_of(request);
    exchange.admit(wire, leased);
  }

  FakeModelServer models_;
  std::vector<CallRecord> records_;
  std::vector<CallFlow> flows_;
  FrontDoor door_{models_, [this](const CallRecord& call) { records_.push_back(call); }, limits(), Tokens{},
                  [this](const CallFlow& flow) { flows_.push_back(flow); }};
  grpc::ServerContext context_;
};

TEST_F(InferExchangeTest, HoldsItsMemoryUntilTheEndAndTellsOfItsTimes) {
  models_.replaced = 5;
  ModelInferResponse response;
  {
    InferExchange exchange(door_, context_, "ModelInfer");
    admit(exchange, twice_request(), true);
    EXPECT_EQ(exchange.id(), "job-1");
    EXPECT_GT(models_.leased(), 0);
    const Result<void> done = exchange.compute(response);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_GT(models_.leased(), 0) << "until the response is sent";
    EXPECT_TRUE(records_.empty());
    exchange.finish(done);
  }
  EXPECT_EQ(models_.leased(), 0);
  EXPECT_TRUE(is_twice(response.raw_output_contents(0), {2, {4, 3, 2}, ElementType::f32, VolumeOrder::channel_major}));
  ASSERT_EQ(records_.size(), 1U);
  const CallRecord& record = records_[0];
  EXPECT_EQ(record.method, "ModelInfer");
  EXPECT_EQ(record.code, "OK");
  EXPECT_EQ(record.version, "2");
  EXPECT_EQ(record.queue_seconds, 0.625);
  EXPECT_EQ(record.compute_seconds, 0.125);
  EXPECT_EQ(record.patches, 2);
  EXPECT_EQ(record.nonfinite_voxels, 5);
  EXPECT_EQ(record.layers, "conv1 0.125 pool1 0.0625");
  EXPECT_EQ(record.voxels, 24);
  EXPECT_GE(record.seconds, record.receive_seconds + record.send_seconds);
}

TEST_F(InferExchangeTest, ARequestWithoutAnIdHasANumberInItsRecordOnly) {
  for (const char* given : {"", "job-1", ""}) {
    InferExchange exchange(door_, context_, "ModelInfer");
    inference::ModelInferRequest request = twice_request();
    request.set_id(given);
    admit(exchange, request, true);
    ModelInferResponse response;
    exchange.finish(exchange.compute(response));
    EXPECT_EQ(response.id(), given);
    EXPECT_EQ(exchange.id(), given) << "as a stream tells it of one that failed";
  }
  ASSERT_EQ(records_.size(), 3U);
  EXPECT_EQ(records_[0].id, "#1");
  EXPECT_EQ(records_[1].id, "job-1");
  EXPECT_EQ(records_[2].id, "#2");
}

TEST_F(InferExchangeTest, TellsWhatFlowsWhenItDoes) {
  InferExchange exchange(door_, context_, "ModelInfer");
  admit(exchange, twice_request(), true);
  ASSERT_EQ(flows_.size(), 1U);
  EXPECT_EQ(flows_[0].model, "twice");
  EXPECT_EQ(flows_[0].version, "2");
  EXPECT_GT(flows_[0].bytes_in, 0);
  ModelInferResponse response;
  const Result<void> done = exchange.compute(response);
  ASSERT_EQ(flows_.size(), 3U) << "a slab each";
  EXPECT_EQ(flows_[1].patches + flows_[2].patches, 2);
  EXPECT_EQ(flows_[1].voxels + flows_[2].voxels, 24);
  EXPECT_EQ(flows_[2].bytes_out, 0);
  exchange.finish(done);
  EXPECT_EQ(flows_.back().bytes_out, static_cast<std::int64_t>(response.ByteSizeLong()));
  EXPECT_EQ(records_[0].bytes_out, flows_.back().bytes_out);
}

TEST_F(InferExchangeTest, WhatCouldNotBeSentIsNotCountedAsSent) {
  InferExchange exchange(door_, context_, "ModelInfer");
  admit(exchange, twice_request(), true);
  ModelInferResponse response;
  ASSERT_TRUE(exchange.compute(response));
  exchange.finish(Error{ErrorCode::cancelled, "the caller is gone"});
  EXPECT_EQ(flows_.back().bytes_out, 0);
  EXPECT_EQ(records_[0].bytes_out, 0);
  EXPECT_EQ(records_[0].bytes_in, flows_.front().bytes_in);
}

TEST_F(InferExchangeTest, WhatIsRefusedHoldsNothing) {
  InferExchange exchange(door_, context_, "ModelInfer");
  inference::ModelInferRequest request = twice_request();
  request.set_model_name("none");
  admit(exchange, request, true);
  EXPECT_EQ(models_.leased(), 0);
  ModelInferResponse response;
  const Result<void> done = exchange.compute(response);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::not_found);
  exchange.finish(done);
  EXPECT_EQ(records_[0].code, "NOT_FOUND");
  EXPECT_EQ(records_[0].model, "none");
  EXPECT_EQ(records_[0].version, "") << "made up by the client";
}

// Two bytes on the wire, two hundred in memory.
TEST_F(InferExchangeTest, WhatWouldGrowPastItsMemoryIsNotParsed) {
  inference::ModelInferRequest request;
  for (int i = 0; i < 1 << 14; ++i) request.add_inputs();
  InferExchange exchange(door_, context_, "ModelInfer");
  admit(exchange, request, true);
  EXPECT_EQ(models_.leased(), 0);
  ModelInferResponse response;
  const Result<void> done = exchange.compute(response);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::over_budget);
  exchange.finish(done);
  EXPECT_EQ(records_[0].code, "RESOURCE_EXHAUSTED");
  EXPECT_EQ(records_[0].bytes_in, 2 << 14);
}

// Calls over another protocol.
class OtherCaller final : public Caller {
 public:
  explicit OtherCaller(std::optional<Error> gone) : gone_(std::move(gone)) {}
  [[nodiscard]] std::optional<Error> gone() const override { return gone_; }
  [[nodiscard]] std::string peer() const override { return "ipv4:10.0.0.1:5000"; }

 private:
  std::optional<Error> gone_;
};

TEST_F(InferExchangeTest, AMessageThatCameAnotherWayIsServedAlike) {
  InferExchange exchange(door_, std::make_unique<OtherCaller>(std::nullopt), "Other");
  exchange.admit(std::make_unique<inference::ModelInferRequest>(twice_request()), 777);
  EXPECT_GT(models_.leased(), 0);
  ModelInferResponse response;
  exchange.finish(exchange.compute(response));
  EXPECT_TRUE(is_twice(response.raw_output_contents(0), {2, {4, 3, 2}, ElementType::f32, VolumeOrder::channel_major}));
  EXPECT_EQ(records_[0].method, "Other");
  EXPECT_EQ(records_[0].bytes_in, 777);
  EXPECT_EQ(exchange.refusal(), "");
}

TEST_F(InferExchangeTest, TheJobOfACallerWhoIsGoneIsStopped) {
  models_.hold(FakeModelServer::Hold::patches);
  InferExchange exchange(door_, std::make_unique<OtherCaller>(Error{ErrorCode::cancelled, "went"}), "Other");
  exchange.admit(std::make_unique<inference::ModelInferRequest>(twice_request()), 777);
  ModelInferResponse response;
  const Result<void> done = exchange.compute(response);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "went");
}

TEST_F(InferExchangeTest, ARefusalIsToldInAWord) {
  InferExchange exchange(door_, std::make_unique<OtherCaller>(std::nullopt), "Other");
  auto request = std::make_unique<inference::ModelInferRequest>(twice_request());
  request->set_model_name("none");
  exchange.admit(std::move(request), 777);
  ModelInferResponse response;
  exchange.finish(exchange.compute(response));
  EXPECT_EQ(exchange.refusal(), "not_found");
}

TEST_F(InferExchangeTest, LeasesOnlyWhereAskedTo) {
  InferExchange exchange(door_, context_, "ModelStreamInfer");
  admit(exchange, twice_request(), false);
  EXPECT_EQ(models_.leased(), 2 * 4 * 3 * 2 * 4) << "slabs alone";
  ModelInferResponse response;
  EXPECT_TRUE(exchange.compute(response));
}

}  // namespace
}  // namespace znni::rpc
