#include "server/rpc/calls/refusal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/rpc/inference/infer_exchange.hpp"
#include "tests/server/rpc/requests.hpp"
#include "tests/server/rpc/wire.hpp"

namespace znni::rpc {
namespace {

TEST(RefusalOf, NamesWhatIsNotThere) {
  EXPECT_EQ(refusal_of(ErrorCode::invalid_argument, {}), "malformed");
  EXPECT_EQ(refusal_of(ErrorCode::corrupt_file, {}), "malformed");
  EXPECT_EQ(refusal_of(ErrorCode::not_found, {}), "not_found");
  EXPECT_EQ(refusal_of(ErrorCode::unsupported, {}), "unsupported");
  EXPECT_EQ(refusal_of(ErrorCode::deadline_exceeded, {}), "deadline");
}

TEST(RefusalOf, TellsWhatIsTooLargeFromWhatOthersHold) {
  EXPECT_EQ(refusal_of(ErrorCode::over_budget, {false, true, 0, 100}), "too_large") << "before it was weighed";
  EXPECT_EQ(refusal_of(ErrorCode::over_budget, {false, true, 101, 100}), "too_large");
  EXPECT_EQ(refusal_of(ErrorCode::over_budget, {false, true, 100, 100}), "memory");
}

TEST(RefusalOf, TellsAFullQueueFromAModelOrADaemonThatDoesNotServe) {
  EXPECT_EQ(refusal_of(ErrorCode::unavailable, {false, true, 1, 100}), "queue_full");
  EXPECT_EQ(refusal_of(ErrorCode::unavailable, {false, false, 0, 100}), "not_ready");
  EXPECT_EQ(refusal_of(ErrorCode::unavailable, {true, true, 1, 100}), "shutting_down");
}

TEST(RefusalOf, WhatIsNoRefusalHasNoName) {
  for (const ErrorCode code :
       {ErrorCode::cancelled, ErrorCode::internal, ErrorCode::device_failure, ErrorCode::device_lost}) {
    EXPECT_EQ(refusal_of(code, {true, true, 1, 1}), "");
  }
}

// A refusal as the record of a call has it.
class RecordedRefusal : public testing::Test {
 protected:
  static FrontDoorLimits limits() {
    FrontDoorLimits limits;
    limits.wire = {1 << 20, 400, 1 << 20};
    return limits;
  }
  std::string_view of(const inference::ModelInferRequest& request) {
    InferExchange exchange(door_, context_, "ModelInfer");
    grpc::ByteBuffer wire = wire_of(request);
    exchange.admit(wire, true);
    inference::ModelInferResponse response;
    exchange.finish(exchange.compute(response));
    return record_.refusal;
  }

  FakeModelServer models_{10'000};
  CallRecord record_;
  FrontDoor door_{models_, [this](const CallRecord& call) { record_ = call; }, limits(), Tokens{}};
  grpc::ServerContext context_;
};

TEST_F(RecordedRefusal, NoneWhereTheAnswerIsGood) {
  EXPECT_EQ(of(twice_request()), "");
  EXPECT_EQ(record_.code, "OK");
}

TEST_F(RecordedRefusal, OfAnAnswerThatIsTooLargeAndOfMemoryThatOthersHold) {
  EXPECT_EQ(of(twice_request({7, 7, 7})), "too_large");
  const Result<TransportLease> others = models_.lease(9'000);
  EXPECT_EQ(of(twice_request()), "memory");
}

TEST_F(RecordedRefusal, OfAModelThatIsNotThereOrDoesNotServe) {
  inference::ModelInferRequest request = twice_request();
  request.set_model_name("none");
  EXPECT_EQ(of(request), "not_found");
  request.set_model_name("broken");
  EXPECT_EQ(of(request), "not_ready");
  models_.after_estimate = [this] { models_.retrained = true; };
  EXPECT_EQ(of(twice_request()), "not_ready") << "loaded again";
}

TEST_F(RecordedRefusal, OfAFullQueueAndOfADoorThatCloses) {
  models_.fail_with(Error{ErrorCode::unavailable, "the queue of model 'twice' is full"});
  EXPECT_EQ(of(twice_request()), "queue_full");
  door_.gate.close();
  EXPECT_EQ(of(twice_request()), "shutting_down");
}

TEST_F(RecordedRefusal, OfCallsThatDidNotComeIn) {
  static_cast<void>(door_.refuse("Volumes", unauthenticated("no token")));
  EXPECT_EQ(record_.refusal, "unauthenticated");
  const grpc::Status unavailable = to_status(Error{ErrorCode::unavailable, "64 requests are in flight"});
  static_cast<void>(door_.refuse("Volumes", unavailable));
  EXPECT_EQ(record_.refusal, "calls");
  door_.gate.close();
  static_cast<void>(door_.refuse("Volumes", unavailable));
  EXPECT_EQ(record_.refusal, "shutting_down");
}

}  // namespace
}  // namespace znni::rpc
