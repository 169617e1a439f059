#include "server/rpc/messages/request_checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/rpc/requests.hpp"

namespace znni::rpc {
namespace {

using inference::ModelInferRequest;
using testing::ElementsAre;
using testing::HasSubstr;

void expect_invalid(const ModelInferRequest& request, const std::vector<std::string>& parts,
                    const ModelInfo& model = twice_model()) {
  const Result<InferRequest> checked = check_infer_request(request, model);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(checked.error().message, HasSubstr("model 'twice'"));
  for (const std::string& part : parts) EXPECT_THAT(checked.error().message, HasSubstr(part));
}

ModelInferRequest typed_request(const std::string& datatype) {
  ModelInferRequest request = twice_request();
  request.clear_raw_input_contents();
  request.mutable_inputs(0)->set_datatype(datatype);
  return request;
}

void set_shape(ModelInferRequest& request, const std::vector<std::int64_t>& shape) {
  request.mutable_inputs(0)->clear_shape();
  for (const std::int64_t extent : shape) request.mutable_inputs(0)->add_shape(extent);
}

TEST(RequestChecks, LegalRequestGivesItsVolume) {
  const Result<InferRequest> checked = check_infer_request(twice_request({6, 5, 4}), twice_model());
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->batch, 1);
  EXPECT_EQ(checked->volume, (VolumeShape{1, {6, 5, 4}, ElementType::f32, VolumeOrder::channel_major}));
}

TEST(RequestChecks, EveryInputType) {
  const std::vector<std::pair<ElementType, std::string>> types = {
      {ElementType::f32, "FP32"}, {ElementType::f16, "FP16"}, {ElementType::u8, "UINT8"}, {ElementType::u16, "UINT16"}};
  for (const auto& [type, name] : types) {
    const Result<InferRequest> checked = check_infer_request(twice_request({3, 3, 3}, type, name), twice_model());
    ASSERT_TRUE(checked) << checked.error().message;
    EXPECT_EQ(checked->volume.type, type);
  }
}

TEST(RequestChecks, NumbersOfChannelsAreWrittenInTypesThatHoldThem) {
  ModelInferRequest request = twice_request({6, 5, 4});
  (*request.mutable_parameters())["output_datatype"].set_string_param("UINT8");
  ModelInfo model = twice_model();
  EXPECT_TRUE(check_infer_request(request, model));
  model.largest_channel_number = 4;
  const Result<InferRequest> refused = check_infer_request(request, model);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(refused.error().message, HasSubstr("does not hold the numbers of channels"));
}

TEST(RequestChecks, BatchCountsVolumes) {
  ModelInferRequest request = twice_request({6, 5, 4});
  set_shape(request, {3, 1, 6, 5, 4});
  request.mutable_raw_input_contents(0)->resize(3 * 120 * 4);
  EXPECT_EQ(check_infer_request(request, twice_model())->batch, 3);
}

TEST(RequestChecks, FlatModelsTakeFourDimensions) {
  const ModelInfo flat = *FakeModelServer().find("flat", "");
  ModelInferRequest request = twice_request({1, 5, 4});
  set_shape(request, {1, 1, 5, 4});
  const Result<InferRequest> checked = check_infer_request(request, flat);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->volume.n, (Vec3{1, 5, 4}));
  set_shape(request, {1, 1, 1, 5, 4});
  EXPECT_THAT(check_infer_request(request, flat).error().message, HasSubstr("4 dimensions, [N,1,Y,X]"));
}

TEST(RequestChecks, LinesTakeThreeDimensions) {
  const ModelInfo line = *FakeModelServer().find("line", "");
  ModelInferRequest request = twice_request({1, 1, 20});
  set_shape(request, {1, 1, 20});
  const Result<InferRequest> checked = check_infer_request(request, line);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->volume.n, (Vec3{1, 1, 20}));
  set_shape(request, {1, 1, 1, 20});
  EXPECT_THAT(check_infer_request(request, line).error().message, HasSubstr("3 dimensions, [N,1,X]"));
}

TEST(RequestChecks, InputsMissingExtraOrMisnamed) {
  ModelInferRequest request = twice_request();
  request.clear_inputs();
  expect_invalid(request, {"0 inputs found", "'raw'"});
  request = twice_request();
  *request.add_inputs() = request.inputs(0);
  expect_invalid(request, {"2 inputs found"});
  request = twice_request();
  request.mutable_inputs(0)->set_name("image");
  expect_invalid(request, {"'image' found", "expected 'raw'"});
}

TEST(RequestChecks, WrongDatatype) {
  ModelInferRequest request = twice_request();
  request.mutable_inputs(0)->set_datatype("FP64");
  expect_invalid(request, {"input 'raw'", "'FP64' found", "FP32, FP16, UINT8 or UINT16"});
}

TEST(RequestChecks, WrongRankDimensionOrChannels) {
  ModelInferRequest request = twice_request();
  set_shape(request, {1, 6, 5, 4});
  expect_invalid(request, {"[1,6,5,4] found", "5 dimensions, [N,1,Z,Y,X]"});
  set_shape(request, {});
  expect_invalid(request, {"[] found"});
  set_shape(request, {1, 1, 6, -5, 4});
  expect_invalid(request, {"[1,1,6,-5,4] found", "at least 1"});
  set_shape(request, {0, 1, 6, 5, 4});
  expect_invalid(request, {"at least 1"});
  set_shape(request, {1, 2, 6, 5, 4});
  expect_invalid(request, {"[1,2,6,5,4] found", "[N,1,Z,Y,X]"});
  set_shape(request, std::vector<std::int64_t>(1000, 1));
  expect_invalid(request, {"[1,1,1,1,1,1,1,1,...]"});
}

TEST(RequestChecks, ShapesWhoseProductsOverflowAreRefused) {
  const std::int64_t huge = std::int64_t{1} << 31;
  ModelInferRequest request = twice_request();
  set_shape(request, {1, 1, huge, huge, huge});
  expect_invalid(request, {"input 'raw'"});
  set_shape(request, {saturated, 1, saturated, saturated, saturated});
  expect_invalid(request, {"input 'raw'"});
  set_shape(request, {std::int64_t{1} << 62, 1, 2, 2, 1});
  expect_invalid(request, {"input 'raw'"});
}

TEST(RequestChecks, BytesMustMatchTheShape) {
  ModelInferRequest request = twice_request({6, 5, 4});
  request.mutable_raw_input_contents(0)->pop_back();
  expect_invalid(request, {"479 bytes found, expected 480", "[1,1,6,5,4] of FP32"});
  *request.mutable_raw_input_contents(0) += "12";
  expect_invalid(request, {"481 bytes found"});
}

TEST(RequestChecks, RawAndTypedTogetherAreRefused) {
  ModelInferRequest request = twice_request();
  request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(1);
  expect_invalid(request, {"both raw_input_contents and contents"});
}

TEST(RequestChecks, NoDataOrTooManyRawEntries) {
  ModelInferRequest request = twice_request();
  request.add_raw_input_contents(std::string(1, 'x'));
  expect_invalid(request, {"2 raw_input_contents found, expected 1"});
  request.clear_raw_input_contents();
  expect_invalid(request, {"no data found"});
}

TEST(RequestChecks, TypedFloats) {
  ModelInferRequest request = typed_request("FP32");
  request.mutable_inputs(0)->mutable_contents()->mutable_fp32_contents()->Resize(119, 0.0F);
  expect_invalid(request, {"119 elements found, expected 120"});
  request.mutable_inputs(0)->mutable_contents()->add_fp32_contents(0);
  EXPECT_TRUE(check_infer_request(request, twice_model()));
}

TEST(RequestChecks, TypedIntegers) {
  for (const char* datatype : {"UINT8", "UINT16"}) {
    ModelInferRequest request = typed_request(datatype);
    request.mutable_inputs(0)->mutable_contents()->mutable_uint_contents()->Resize(120, 1);
    EXPECT_TRUE(check_infer_request(request, twice_model())) << datatype;
  }
}

TEST(RequestChecks, TypedDataInTheWrongField) {
  ModelInferRequest request = typed_request("FP32");
  request.mutable_inputs(0)->mutable_contents()->mutable_fp64_contents()->Resize(120, 0.0);
  expect_invalid(request, {"fp64_contents found, expected fp32_contents"});
  request.mutable_inputs(0)->mutable_contents()->mutable_fp32_contents()->Resize(120, 0.0F);
  expect_invalid(request, {"only for datatype FP32"});
}

TEST(RequestChecks, HalfFloatsTravelRaw) {
  ModelInferRequest request = typed_request("FP16");
  request.mutable_inputs(0)->mutable_contents()->mutable_uint_contents()->Resize(120, 0);
  expect_invalid(request, {"FP16 travels in raw_input_contents only"});
}

TEST(RequestChecks, RequestedOutputs) {
  ModelInferRequest request = twice_request();
  request.add_outputs()->set_name("probability");
  EXPECT_TRUE(check_infer_request(request, twice_model()));
  request.add_outputs()->set_name("probability");
  expect_invalid(request, {"'probability' found twice"});
  request.mutable_outputs(1)->set_name("mask");
  expect_invalid(request, {"requested output 'mask', expected 'probability'"});
}

TEST(RequestChecks, ParametersAreCheckedToo) {
  ModelInferRequest request = twice_request();
  (*request.mutable_parameters())["output_datatype"].set_string_param("FP16");
  EXPECT_EQ(check_infer_request(request, twice_model())->parameters.output_type, ElementType::f16);
  (*request.mutable_parameters())["triton_x"].set_bool_param(true);
  expect_invalid(request, {"'triton_x'"});
}

void set_region(google::protobuf::Map<std::string, inference::InferParameter>& parameters, std::int64_t bytes) {
  parameters["shared_memory_region"].set_string_param("r");
  parameters["shared_memory_byte_size"].set_int64_param(bytes);
}

TEST(RequestChecks, InputAndOutputMayBeInSharedMemory) {
  ModelInferRequest request = twice_request();
  request.clear_raw_input_contents();
  set_region(*request.mutable_inputs(0)->mutable_parameters(), 480);
  auto& output = *request.add_outputs();
  output.set_name("probability");
  set_region(*output.mutable_parameters(), 192);
  const Result<InferRequest> checked = check_infer_request(request, twice_model());
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->inputs.front().region, (RegionRange{"r", 0, 480}));
  ASSERT_EQ(checked->outputs.size(), 1U);
  EXPECT_EQ(checked->outputs.front().region, (RegionRange{"r", 0, 192}));
}

// Returns what is asked for, as "name first+channels".
std::vector<std::string> asked(const ModelInferRequest& request, const ModelInfo& model) {
  const Result<InferRequest> checked = check_infer_request(request, model);
  EXPECT_TRUE(checked) << (checked ? "" : checked.error().message);
  std::vector<std::string> texts;
  for (const RequestedOutput& output : checked ? checked->outputs : std::vector<RequestedOutput>()) {
    texts.push_back(output.name + " " + std::to_string(output.first_channel) + "+" + std::to_string(output.channels));
  }
  return texts;
}

TEST(RequestChecks, OfSeveralOutputsAnyMayBeAskedForAndNoneMeansAll) {
  ModelInfo model = twice_model();
  model.outputs = {{"a", 1}, {"b", 4}, {"c", 2}};
  ModelInferRequest request = twice_request();
  EXPECT_THAT(asked(request, model), ElementsAre("a 0+1", "b 1+4", "c 5+2"));
  request.add_outputs()->set_name("c");
  request.add_outputs()->set_name("b");
  EXPECT_THAT(asked(request, model), ElementsAre("c 5+2", "b 1+4"));
  request.add_outputs()->set_name("d");
  EXPECT_THAT(check_infer_request(request, model).error().message, HasSubstr("'d', expected 'a' or 'b' or 'c'"));
  request.mutable_outputs(2)->set_name("c");
  EXPECT_THAT(check_infer_request(request, model).error().message, HasSubstr("'c' found twice, expected once"));
}

TEST(RequestChecks, AllOutputsGoToSharedMemoryOrNone) {
  ModelInfo model = twice_model();
  model.outputs = {{"a", 1}, {"b", 1}};
  ModelInferRequest request = twice_request();
  request.add_outputs()->set_name("a");
  request.add_outputs()->set_name("b");
  set_region(*request.mutable_outputs(1)->mutable_parameters(), 96);
  EXPECT_THAT(check_infer_request(request, model).error().message,
              HasSubstr("'b': some outputs go to shared memory, expected all or none"));
  set_region(*request.mutable_outputs(0)->mutable_parameters(), 96);
  EXPECT_THAT(check_infer_request(request, model).error().message,
              HasSubstr("'b' goes to the same shared memory as 'a'"));
  (*request.mutable_outputs(1)->mutable_parameters())["shared_memory_offset"].set_int64_param(96);
  EXPECT_THAT(asked(request, model), ElementsAre("a 0+1", "b 1+1"));
}

TEST(RequestChecks, SharedMemoryHoldsTheInputAloneAndWhole) {
  ModelInferRequest request = twice_request();
  set_region(*request.mutable_inputs(0)->mutable_parameters(), 480);
  expect_invalid(request, {"both a shared memory region and contents"});
  request.clear_raw_input_contents();
  set_region(*request.mutable_inputs(0)->mutable_parameters(), 479);
  expect_invalid(request, {"479 bytes in shared memory", "480"});
}

TEST(RequestChecks, VersionsAreNumbers) {
  EXPECT_TRUE(check_version("m", ""));
  EXPECT_TRUE(check_version("m", "12"));
  for (const char* version : {"a", "1.0", "-1", " 1", "99999999999999999999"}) {
    const Result<void> checked = check_version("m", version);
    ASSERT_FALSE(checked) << version;
    EXPECT_EQ(checked.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(checked.error().message, HasSubstr(version));
  }
}

}  // namespace
}  // namespace znni::rpc
