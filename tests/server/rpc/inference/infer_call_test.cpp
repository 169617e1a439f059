#include "server/rpc/inference/infer_call.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/server/rpc/requests.hpp"
#include "tests/server/rpc/shared_memory_file.hpp"

namespace znni::rpc {
namespace {

using inference::ModelInferRequest;
using inference::ModelInferResponse;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t plenty = std::int64_t{1} << 30;

class InferCall : public testing::Test {
 protected:
  Result<void> infer(const ModelInferRequest& request, std::int64_t max_response_bytes = plenty) {
    Result<AdmittedInfer> admitted = admit_infer(request, server_, {max_response_bytes, regions_, true});
    if (!admitted) return admitted.error();
    leased_ = server_.leased();
    const InferEvents events = {[this](bool in_turn) { started_ = in_turn; },
                                [this](const JobGain& gain) { voxels_ += gain.voxels; }};
    statistics_ = run_infer(request, *admitted, server_, stop_.get_token(), events, response_);
    return statistics_ ? Result<void>() : Result<void>(statistics_.error());
  }

  FakeModelServer server_;
  std::stop_source stop_;
  ModelInferResponse response_;
  const SharedRegions* regions_ = nullptr;
  Result<JobStatistics> statistics_ = Error{};
  bool started_ = false;
  std::int64_t voxels_ = 0;  // that the jobs told of
  std::int64_t leased_ = 0;
};

TEST_F(InferCall, AnswersRawInTheShapeOfTheOutput) {
  const Result<void> done = infer(twice_request({6, 5, 4}));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(response_.model_name(), "twice");
  EXPECT_EQ(response_.model_version(), "2");
  EXPECT_EQ(response_.id(), "job-1");
  ASSERT_EQ(response_.outputs_size(), 1);
  EXPECT_EQ(response_.outputs(0).name(), "probability");
  EXPECT_EQ(response_.outputs(0).datatype(), "FP32");
  EXPECT_THAT(response_.outputs(0).shape(), ElementsAre(1, 2, 4, 3, 2));
  EXPECT_FALSE(response_.outputs(0).has_contents());
  ASSERT_EQ(response_.raw_output_contents_size(), 1);
  EXPECT_TRUE(is_twice(response_.raw_output_contents(0), {2, {4, 3, 2}, ElementType::f32, VolumeOrder::channel_major}));
  EXPECT_TRUE(started_);
  EXPECT_EQ(voxels_, 4 * 3 * 2);
}

TEST_F(InferCall, EveryInputTypeGivesTheSame) {
  const std::vector<std::pair<ElementType, std::string>> types = {
      {ElementType::f16, "FP16"}, {ElementType::u8, "UINT8"}, {ElementType::u16, "UINT16"}};
  for (const auto& [type, name] : types) {
    response_.Clear();
    ASSERT_TRUE(infer(twice_request({5, 5, 5}, type, name))) << name;
    EXPECT_TRUE(
        is_twice(response_.raw_output_contents(0), {2, Vec3::cube(3), ElementType::f32, VolumeOrder::channel_major}))
        << name;
  }
}

// Its estimate and its output are another's.
TEST_F(InferCall, AModelThatWasLoadedAnewDoesNotTakeTheJob) {
  server_.after_estimate = [this] { server_.retrained = true; };
  const Result<void> done = infer(twice_request({6, 5, 4}));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::unavailable);
  EXPECT_THAT(done.error().message, HasSubstr("loaded again"));
}

TEST_F(InferCall, OneChannelGivesTheSame) {
  server_.f_out = 1;
  ASSERT_TRUE(infer(twice_request({6, 5, 4})));
  EXPECT_TRUE(is_twice(response_.raw_output_contents(0), {1, {4, 3, 2}, ElementType::f32, VolumeOrder::channel_major}));
}

// Returns whether channel 0 of `raw` is `times` the input at v + 1.
bool is_times(float times, const std::string& raw, const VolumeShape& shape) {
  const auto* data = reinterpret_cast<const std::byte*>(raw.data());
  bool same = static_cast<std::int64_t>(raw.size()) == volume_bytes(shape);
  for (Vec3 v; same && v.z < shape.n.z; ++v.z) {
    for (v.y = 0; same && v.y < shape.n.y; ++v.y) {
      for (v.x = 0; same && v.x < shape.n.x; ++v.x) {
        same = voxel(data, shape, 0, v) == times * input_voxel(v + Vec3::cube(1));
      }
    }
  }
  return same;
}

TEST_F(InferCall, EachOutputIsATensorOfItsOwn) {
  server_.f_out = 3;
  server_.two_outputs = true;
  const VolumeShape first{1, {4, 3, 2}, ElementType::f32, VolumeOrder::channel_major};
  const VolumeShape rest{2, {4, 3, 2}, ElementType::f32, VolumeOrder::channel_major};
  ModelInferRequest request = twice_request({6, 5, 4});
  ASSERT_TRUE(infer(request));
  ASSERT_EQ(response_.outputs_size(), 2);
  EXPECT_EQ(response_.outputs(1).name(), "rest");
  EXPECT_THAT(response_.outputs(0).shape(), ElementsAre(1, 1, 4, 3, 2));
  EXPECT_THAT(response_.outputs(1).shape(), ElementsAre(1, 2, 4, 3, 2));
  ASSERT_EQ(response_.raw_output_contents_size(), 2);
  EXPECT_TRUE(is_twice(response_.raw_output_contents(0), first));
  EXPECT_EQ(static_cast<std::int64_t>(response_.raw_output_contents(1).size()), volume_bytes(rest));
  EXPECT_TRUE(is_times(2, response_.raw_output_contents(1).substr(0, 96), first));
  EXPECT_TRUE(is_times(3, response_.raw_output_contents(1).substr(96), first));
  response_.Clear();
  request.add_outputs()->set_name("rest");
  ASSERT_TRUE(infer(request, volume_bytes(rest))) << "what nothing asks for does not count";
  ASSERT_EQ(response_.raw_output_contents_size(), 1);
  EXPECT_TRUE(is_times(2, response_.raw_output_contents(0).substr(0, 96), first));
}

TEST_F(InferCall, AModelThatWasLoadedAnewWithOtherChannelsIsNotAsked) {
  server_.two_outputs = true;
  server_.f_out_of_estimate = 1;
  const Result<void> done = infer(twice_request({6, 5, 4}));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::unavailable);
  EXPECT_THAT(done.error().message, HasSubstr("loaded again"));
}

TEST_F(InferCall, ABatchOfSeveralOutputs) {
  server_.two_outputs = true;
  const VolumeShape one{1, {4, 3, 2}, ElementType::f32, VolumeOrder::channel_major};
  ModelInferRequest request = twice_request({6, 5, 4});
  request.mutable_inputs(0)->set_shape(0, 2);
  *request.mutable_raw_input_contents(0) += std::string(request.raw_input_contents(0));
  ASSERT_TRUE(infer(request));
  for (int output = 0; output < 2; ++output) {
    EXPECT_THAT(response_.outputs(output).shape(), ElementsAre(2, 1, 4, 3, 2));
    const std::string& raw = response_.raw_output_contents(output);
    ASSERT_EQ(raw.size(), 192U);
    EXPECT_TRUE(is_times(static_cast<float>(output + 1), raw.substr(0, 96), one));
    EXPECT_TRUE(is_times(static_cast<float>(output + 1), raw.substr(96), one));
  }
}

// Returns whether channel 0 of `raw` is `times` the input at v + 1, and 1000.
bool is_masked(float times, const std::string& raw, Vec3 n) {
  std::vector<float> values(raw.size() / sizeof(float));
  std::memcpy(values.data(), raw.data(), raw.size());
  for (float& value : values) value -= 1000;
  const std::string without(reinterpret_cast<const char*>(values.data()), raw.size());
  return is_times(times, without, {1, n, ElementType::f32, VolumeOrder::channel_major});
}

TEST_F(InferCall, SeveralInputsInAnyOrder) {
  server_.two_inputs = true;
  server_.f_out = 1;
  const Result<void> done = infer(masked_request());
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(is_masked(1, response_.raw_output_contents(0), {4, 3, 2}));
  ModelInferRequest other = masked_request();
  other.mutable_inputs()->SwapElements(0, 1);
  other.mutable_raw_input_contents()->SwapElements(0, 1);
  response_.Clear();
  ASSERT_TRUE(infer(other));
  EXPECT_TRUE(is_masked(1, response_.raw_output_contents(0), {4, 3, 2}));
}

TEST_F(InferCall, ABatchOfSeveralInputs) {
  server_.two_inputs = true;
  server_.f_out = 1;
  ModelInferRequest request = masked_request();
  for (int i = 0; i < 2; ++i) {
    request.mutable_inputs(i)->set_shape(0, 2);
    *request.mutable_raw_input_contents(i) += std::string(request.raw_input_contents(i));
  }
  ASSERT_TRUE(infer(request));
  ASSERT_EQ(response_.raw_output_contents(0).size(), 192U);
  EXPECT_TRUE(is_masked(1, response_.raw_output_contents(0).substr(0, 96), {4, 3, 2}));
  EXPECT_TRUE(is_masked(1, response_.raw_output_contents(0).substr(96), {4, 3, 2}));
}

// They are copied side by side.
TEST_F(InferCall, MemoryOfSeveralInputsIsLeasedWithACopy) {
  server_.two_inputs = true;
  server_.f_out = 1;
  const ModelInferRequest request = masked_request();
  ASSERT_TRUE(infer(request));
  EXPECT_GE(leased_, 2 * 960 + 960);
  EXPECT_LT(leased_, 2 * 960 + 960 + 1000);
  const Result<AdmittedInfer> in_a_stream = admit_infer(request, server_, {plenty, nullptr, false});
  ASSERT_TRUE(in_a_stream);
  EXPECT_GE(in_a_stream->lease_bytes, 960) << "the stream's memory has no room for the copy";
  EXPECT_LT(in_a_stream->lease_bytes, 2 * 960) << "it has room for the request and the response";
}

// The model's inputs change between the estimate and the run.
TEST_F(InferCall, AModelThatWasLoadedAnewWithOtherInputsIsNotAsked) {
  server_.two_inputs = true;
  server_.f_out = 1;
  Result<AdmittedInfer> admitted = admit_infer(masked_request(), server_, {plenty, nullptr, true});
  ASSERT_TRUE(admitted);
  server_.two_inputs = false;
  server_.retrained = true;
  const Result<JobStatistics> done = run_infer(masked_request(), *admitted, server_, stop_.get_token(), {}, response_);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::unavailable);
  EXPECT_THAT(done.error().message, HasSubstr("loaded again"));
}

TEST_F(InferCall, HalfFloatOutput) {
  ModelInferRequest request = twice_request({6, 5, 4});
  (*request.mutable_parameters())["output_datatype"].set_string_param("FP16");
  ASSERT_TRUE(infer(request));
  EXPECT_EQ(response_.outputs(0).datatype(), "FP16");
  EXPECT_TRUE(is_twice(response_.raw_output_contents(0), {2, {4, 3, 2}, ElementType::f16, VolumeOrder::channel_major}));
}

TEST_F(InferCall, BatchIsAJobForEachVolume) {
  ModelInferRequest request = twice_request({6, 5, 4});
  request.mutable_inputs(0)->set_shape(0, 2);
  *request.mutable_raw_input_contents(0) += std::string(request.raw_input_contents(0));
  ASSERT_TRUE(infer(request));
  server_.wait_for_jobs(2);
  EXPECT_EQ(server_.came_together, 2U) << "once, so that none is refused when others are computed";
  EXPECT_EQ(server_.together, 1U);
  EXPECT_THAT(response_.outputs(0).shape(), ElementsAre(2, 2, 4, 3, 2));
  const std::string& raw = response_.raw_output_contents(0);
  const VolumeShape one{2, {4, 3, 2}, ElementType::f32, VolumeOrder::channel_major};
  EXPECT_TRUE(is_twice(raw.substr(0, raw.size() / 2), one));
  EXPECT_TRUE(is_twice(raw.substr(raw.size() / 2), one));
}

TEST_F(InferCall, OfThousandsOfVolumesAThousandStandInLine) {
  constexpr std::int64_t count = 1003;
  ModelInferRequest request = twice_request(Vec3::cube(3));
  request.mutable_inputs(0)->set_shape(0, count);
  std::string& raw = *request.mutable_raw_input_contents(0);
  const std::string one = raw;
  for (int more = 1; more < count; ++more) raw += one;
  ASSERT_TRUE(infer(request));
  EXPECT_EQ(server_.came_together, 3U);
  EXPECT_EQ(statistics_->patches, count);
  const std::string& found = response_.raw_output_contents(0);
  ASSERT_EQ(found.size(), count * 2 * sizeof(float));
  EXPECT_TRUE(is_twice(found.substr(0, 8), {2, Vec3::cube(1), ElementType::f32, VolumeOrder::channel_major}));
  EXPECT_EQ(found.substr(found.size() - 8), found.substr(0, 8));
}

// Five volumes, which the model computes two at a time.
class InferCallTogether : public InferCall {
 protected:
  InferCallTogether() {
    server_.batch = 5;
    server_.entries = 2;
    request_.mutable_inputs(0)->set_shape(0, 5);
    std::string& raw = *request_.mutable_raw_input_contents(0);
    const std::string one = raw;
    for (int more = 1; more < 5; ++more) raw += one;
  }
  // Takes what others have: for slabs of the request, beside itself, so many bytes are left.
  Result<TransportLease> leave(std::int64_t bytes) {
    const std::int64_t itself = admit_infer(request_, server_, {plenty, nullptr, true})->lease_bytes;
    return server_.lease(server_.memory().transport_limit - itself - bytes);
  }
  void expect_all() {
    server_.wait_for_jobs(5);
    EXPECT_EQ(server_.alike, 5);
    const std::string& raw = response_.raw_output_contents(0);
    const VolumeShape one{2, {4, 3, 2}, ElementType::f32, VolumeOrder::channel_major};
    for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(is_twice(raw.substr(i * raw.size() / 5, raw.size() / 5), one));
    EXPECT_EQ(statistics_->patches, 5 * 2);
  }

  ModelInferRequest request_ = twice_request({6, 5, 4});
};

TEST_F(InferCallTogether, VolumesOfARequestThatShareABatchComeTogether) {
  const Result<void> done = infer(request_);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(server_.came_together, 5U);
  EXPECT_EQ(server_.together, 2U);
  expect_all();
}

TEST_F(InferCallTogether, AsManyAsThereIsMemoryFor) {
  const std::int64_t slab = 2 * 4 * 3 * 2 * 4;  // four planes of two channels
  const Result<TransportLease> others = leave(slab);
  ASSERT_TRUE(others);
  Result<AdmittedInfer> admitted = admit_infer(request_, server_, {plenty, nullptr, true});
  ASSERT_TRUE(admitted);
  statistics_ = run_infer(request_, *admitted, server_, {}, {}, response_);
  ASSERT_TRUE(statistics_) << statistics_.error().message;
  EXPECT_EQ(server_.together, 1U);
  expect_all();
}

// The lease comes from what is free then: the next estimate wants less.
TEST_F(InferCallTogether, MemoryThatOthersTookInBetweenIsDoneWithout) {
  const std::int64_t slab = 2 * 2 * 3 * 2 * 4;  // two planes of two channels
  std::optional<Result<TransportLease>> others;
  server_.entries = 0;
  server_.after_estimate = [&] {
    if (others) return;
    others.emplace(Error{});
    others = leave(slab);
    server_.max_slab_planes = 2;
  };
  const Result<void> done = infer(request_);
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_TRUE(*others);
  expect_all();
}

// A second look finds what the first has leased, too: the request and three planes of two channels.
TEST_F(InferCallTogether, WhatItLeasedItselfIsNotMissingWhenItLooksAgain) {
  server_.entries = 0;
  const std::int64_t slab = 3 * 2 * 3 * 2 * 4;
  const std::int64_t itself = admit_infer(request_, server_, {plenty, nullptr, true})->lease_bytes;
  server_.bytes_per_slab_plane = (itself + slab) / 3;
  std::optional<Result<TransportLease>> others;
  server_.after_estimate = [&] {
    if (!others) others.emplace(server_.lease(server_.memory().transport_limit - itself - slab));
  };
  const Result<AdmittedInfer> admitted = admit_infer(request_, server_, {plenty, nullptr, true});
  ASSERT_TRUE(admitted) << admitted.error().message;
  EXPECT_EQ(admitted->estimate.slab_planes, 3);
}

// A volume of two rows has two slabs open in a batch.
TEST_F(InferCallTogether, AllRowsOfABatchHaveMemory) {
  server_.max_slab_planes = 2;
  for (const std::int64_t slabs : {1, 3, 4}) {
    const std::int64_t slab = 2 * 2 * 3 * 2 * 4;  // of two channels
    const Result<TransportLease> others = leave(slabs * slab);
    ASSERT_TRUE(others);
    Result<AdmittedInfer> admitted = admit_infer(request_, server_, {plenty, nullptr, true});
    if (slabs < 2) {
      EXPECT_EQ(admitted.error().code, ErrorCode::over_budget) << "refused before any work";
      continue;
    }
    ASSERT_TRUE(admitted);
    response_.Clear();
    statistics_ = run_infer(request_, *admitted, server_, {}, {}, response_);
    ASSERT_TRUE(statistics_) << statistics_.error().message;
    EXPECT_EQ(server_.together, static_cast<std::size_t>(slabs / 2)) << slabs;
  }
}

TEST_F(InferCall, FlatModelsAnswerInFourDimensions) {
  ModelInferRequest request = twice_request({1, 5, 4});
  request.set_model_name("flat");
  request.mutable_inputs(0)->mutable_shape()->erase(request.mutable_inputs(0)->mutable_shape()->begin());
  ASSERT_TRUE(infer(request));
  EXPECT_THAT(response_.outputs(0).shape(), ElementsAre(1, 2, 3, 2));
}

TEST_F(InferCall, LinesAnswerInThreeDimensions) {
  ModelInferRequest request = twice_request({1, 1, 9});
  request.set_model_name("line");
  auto& shape = *request.mutable_inputs(0)->mutable_shape();
  shape.erase(shape.begin(), shape.begin() + 2);
  ASSERT_TRUE(infer(request));
  EXPECT_THAT(response_.outputs(0).shape(), ElementsAre(1, 2, 7));
}

TEST_F(InferCall, UnknownModelVersionAndBadVersion) {
  ModelInferRequest request = twice_request();
  request.set_model_name("none");
  EXPECT_EQ(infer(request).error().code, ErrorCode::not_found);
  EXPECT_THAT(infer(request).error().message, HasSubstr("Request for unknown model"));
  request = twice_request();
  request.set_model_version("9");
  EXPECT_EQ(infer(request).error().code, ErrorCode::not_found);
  request.set_model_version("new");
  EXPECT_EQ(infer(request).error().code, ErrorCode::invalid_argument);
  request.set_model_name("broken");
  request.set_model_version("");
  EXPECT_EQ(infer(request).error().code, ErrorCode::unavailable);
}

TEST_F(InferCall, TooSmallAVolumeIsRefusedBeforeAnyWork) {
  const Result<void> done = infer(twice_request({2, 5, 5}));
  EXPECT_EQ(done.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(done.error().message, HasSubstr("2x5x5"));
  EXPECT_EQ(server_.leased(), 0);
}

TEST_F(InferCall, AResponseOverTheLimitIsRefusedBeforeAnyWork) {
  // 2 channels of 4x3x2 float32.
  const Result<void> done = infer(twice_request({6, 5, 4}), 191);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::over_budget);
  EXPECT_THAT(done.error().message, HasSubstr("192 bytes, at most 191"));
  EXPECT_FALSE(started_);
  EXPECT_TRUE(infer(twice_request({6, 5, 4}), 192));
}

TEST_F(InferCall, VoxelsOverTheLimitOfARequestAreRefusedBeforeAnyWork) {
  const ModelInferRequest raw = twice_request({6, 5, 4});  // 480 bytes
  ModelInferRequest typed = raw;
  typed.clear_raw_input_contents();
  for (int i = 0; i < 120; ++i) typed.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  for (const ModelInferRequest& request : {raw, typed}) {
    const Result<AdmittedInfer> admitted = admit_infer(request, server_, {plenty, nullptr, true, nullptr, 479});
    ASSERT_FALSE(admitted);
    EXPECT_EQ(admitted.error().code, ErrorCode::over_budget);
    EXPECT_THAT(admitted.error().message, HasSubstr("the request has 480 bytes of voxels, at most 479 are taken"));
    EXPECT_EQ(server_.leased(), 0);
    EXPECT_TRUE(admit_infer(request, server_, {plenty, nullptr, true, nullptr, 480}));
  }
}

TEST_F(InferCall, MemoryIsLeasedAndGivenBack) {
  ASSERT_TRUE(infer(twice_request({6, 5, 4})));
  EXPECT_GE(leased_, 480 + 192);
  EXPECT_EQ(server_.held_bytes, leased_) << "as the queue counts it";
  EXPECT_EQ(server_.leased(), 0);
}

// Two copies of the larger side: twelve channels of 4x3x2 float32 go out for one of 6x5x4 that came in. The slab is of
// four planes, beside it.
TEST_F(InferCall, AnOutputLargerThanItsInputIsLeasedToTheByte) {
  server_.f_out = 12;
  server_.list_bytes = 40;
  const ModelInferRequest request = twice_request({6, 5, 4});
  const std::int64_t output = 12 * 4 * 3 * 2 * 4;
  ASSERT_LT(static_cast<std::int64_t>(request.ByteSizeLong()), output);
  const Result<AdmittedInfer> admitted = admit_infer(request, server_, {plenty, nullptr, true});
  ASSERT_TRUE(admitted) << admitted.error().message;
  EXPECT_EQ(admitted->lease_bytes, 2 * output + 40);
  EXPECT_EQ(admitted->held_bytes, 2 * output + 40 + output);
  EXPECT_EQ(server_.leased(), admitted->held_bytes);
}

TEST_F(InferCall, AnInputLargerThanItsOutputIsLeasedToTheByte) {
  const ModelInferRequest request = twice_request({6, 5, 4});
  const Result<AdmittedInfer> admitted = admit_infer(request, server_, {plenty, nullptr, true});
  ASSERT_TRUE(admitted) << admitted.error().message;
  EXPECT_EQ(admitted->lease_bytes, 2 * static_cast<std::int64_t>(request.ByteSizeLong()));
}

TEST_F(InferCall, WhatDoesNotFitTheBudgetIsRefusedWithNumbers) {
  FakeModelServer small(500);
  const Result<AdmittedInfer> admitted = admit_infer(twice_request({6, 5, 4}), small, {plenty});
  ASSERT_FALSE(admitted);
  EXPECT_EQ(admitted.error().code, ErrorCode::over_budget);
  EXPECT_THAT(admitted.error().message, HasSubstr("model 'twice'"));
}

TEST_F(InferCall, AFailureOfTheEngineIsPassedOn) {
  server_.fail_with(Error{ErrorCode::device_failure, "worker died"});
  EXPECT_EQ(infer(twice_request()).error().code, ErrorCode::device_failure);
  EXPECT_EQ(server_.leased(), 0);
}

TEST_F(InferCall, AResponseSaysHowManyVoxelsWereReplaced) {
  ASSERT_TRUE(infer(twice_request({6, 5, 4})));
  EXPECT_EQ(response_.parameters_size(), 0);
  response_.Clear();
  server_.replaced = 3;
  ASSERT_TRUE(infer(twice_request({6, 5, 4})));
  EXPECT_EQ(response_.parameters().at("nonfinite_voxels").int64_param(), 3);
}

TEST_F(InferCall, AResponseThatTheCpuMadeForTheGpuSaysWhy) {
  ASSERT_TRUE(infer(twice_request({6, 5, 4})));
  EXPECT_EQ(response_.parameters_size(), 0);
  response_.Clear();
  server_.fallback = "it is on fire";
  ASSERT_TRUE(infer(twice_request({6, 5, 4})));
  EXPECT_EQ(response_.parameters().at("fallback").string_param(), "it is on fire");
  EXPECT_TRUE(is_twice(response_.raw_output_contents(0), {2, {4, 3, 2}, ElementType::f32, VolumeOrder::channel_major}));
}

TEST_F(InferCall, AStopEndsTheJob) {
  server_.hold(FakeModelServer::Hold::patches);
  stop_.request_stop();
  EXPECT_EQ(infer(twice_request()).error().code, ErrorCode::cancelled);
  EXPECT_EQ(server_.stopped_jobs, 1);
}

TEST_F(InferCall, TimesOfTheWholeBatchAndThePriorityOfItsJobs) {
  ModelInferRequest request = twice_request();
  request.mutable_inputs(0)->set_shape(0, 2);
  request.mutable_raw_input_contents(0)->append(request.raw_input_contents(0));
  (*request.mutable_parameters())["priority"].set_int64_param(1);
  ASSERT_TRUE(infer(request));
  EXPECT_EQ(statistics_->seconds, 0.5);
  EXPECT_EQ(statistics_->queued, 1);
  EXPECT_EQ(statistics_->patches, 4);
  EXPECT_EQ(server_.last_priority, 1);
}

class InferCallInSharedMemory : public InferCall {
 protected:
  InferCallInSharedMemory() {
    regions_ = &registered_;
    EXPECT_TRUE(*registered_.add("r", *SharedRegion::open(memory_.key(), 0, memory_.bytes())));
    memory_.write(16, input_bytes({1, {6, 5, 4}, ElementType::f32, VolumeOrder::channel_major}));
  }
  static void place(google::protobuf::Map<std::string, inference::InferParameter>& parameters, std::int64_t offset,
                    std::int64_t bytes) {
    parameters["shared_memory_region"].set_string_param("r");
    parameters["shared_memory_offset"].set_int64_param(offset);
    parameters["shared_memory_byte_size"].set_int64_param(bytes);
  }
  static ModelInferRequest request(std::int64_t output_bytes = 192) {
    ModelInferRequest request = twice_request();
    request.clear_raw_input_contents();
    place(*request.mutable_inputs(0)->mutable_parameters(), 16, 480);
    auto& output = *request.add_outputs();
    output.set_name("probability");
    place(*output.mutable_parameters(), 1000, output_bytes);
    return request;
  }
  const SharedMemoryFile memory_{4096};
  SharedRegions registered_;
};

TEST_F(InferCallInSharedMemory, InputAndOutputStayThere) {
  const Result<void> done = infer(request(), 0);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(response_.raw_output_contents_size(), 0);
  EXPECT_EQ(response_.outputs(0).parameters().at("shared_memory_region").string_param(), "r");
  EXPECT_EQ(response_.outputs(0).parameters().at("shared_memory_offset").int64_param(), 1000);
  EXPECT_EQ(response_.outputs(0).parameters().at("shared_memory_byte_size").int64_param(), 192);
  EXPECT_TRUE(is_twice(memory_.read(1000, 192), {2, {4, 3, 2}, ElementType::f32, VolumeOrder::channel_major}));
}

TEST_F(InferCallInSharedMemory, EachOutputHasItsOwnRegion) {
  server_.two_outputs = true;
  ModelInferRequest both = request(96);
  both.mutable_outputs(0)->set_name("rest");
  auto& first = *both.add_outputs();
  first.set_name("first");
  place(*first.mutable_parameters(), 2000, 96);
  ASSERT_TRUE(infer(both));
  EXPECT_EQ(response_.raw_output_contents_size(), 0);
  EXPECT_EQ(response_.outputs(1).parameters().at("shared_memory_offset").int64_param(), 2000);
  const VolumeShape one{1, {4, 3, 2}, ElementType::f32, VolumeOrder::channel_major};
  EXPECT_TRUE(is_times(2, memory_.read(1000, 96), one));
  EXPECT_TRUE(is_twice(memory_.read(2000, 96), one));
  (*both.mutable_outputs(1)->mutable_parameters())["shared_memory_byte_size"].set_int64_param(95);
  EXPECT_THAT(infer(both).error().message, HasSubstr("95 bytes are given for the output 'first', it has 96"));
}

TEST_F(InferCallInSharedMemory, EachInputHasItsOwnRegion) {
  server_.two_inputs = true;
  server_.f_out = 1;
  memory_.write(2000, constant_bytes(1000, 120));
  ModelInferRequest both = masked_request();
  both.clear_raw_input_contents();
  place(*both.mutable_inputs(0)->mutable_parameters(), 2000, 480);
  place(*both.mutable_inputs(1)->mutable_parameters(), 16, 480);
  const Result<void> done = infer(both);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(is_masked(1, response_.raw_output_contents(0), {4, 3, 2}));
  place(*both.mutable_inputs(0)->mutable_parameters(), 3617, 480);
  EXPECT_EQ(infer(both).error().code, ErrorCode::invalid_argument) << "out of its bounds";
  place(*both.mutable_inputs(0)->mutable_parameters(), saturated - 100, 480);
  EXPECT_EQ(infer(both).error().code, ErrorCode::invalid_argument);
}

TEST_F(InferCallInSharedMemory, WhatDoesNotFitIsRefusedBeforeWork) {
  const Result<void> small = infer(request(191));
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(small.error().message, HasSubstr("191 bytes are given for the output 'probability', it has 192"));
  EXPECT_EQ(infer(request(3097)).error().code, ErrorCode::invalid_argument);
  registered_.remove("r");
  EXPECT_EQ(infer(request()).error().code, ErrorCode::not_found);
  regions_ = nullptr;
  EXPECT_EQ(infer(request()).error().code, ErrorCode::unsupported);
  EXPECT_FALSE(started_);
  EXPECT_EQ(server_.leased(), 0);
}

TEST_F(InferCallInSharedMemory, ItsCopiesAreLeasedWhateverTheCallerHoldsForMessages) {
  const Result<AdmittedInfer> admitted = admit_infer(request(), server_, {plenty, regions_, false});
  ASSERT_TRUE(admitted) << admitted.error().message;
  EXPECT_GE(admitted->lease_bytes, 480 + 192);
}

TEST_F(InferCallInSharedMemory, MemoryCutShortIsTheClientsError) {
  memory_.resize(100);
  const Result<void> done = infer(request());
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(done.error().message, HasSubstr("has become smaller"));
}

}  // namespace
}  // namespace znni::rpc
