#include "server/rest/infer_message.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace znni::rest {
namespace {

using testing::HasSubstr;

constexpr std::int64_t max_voxel_bytes = 1 << 20;

std::string message_with(const std::string& input, const std::string& more = "") {
  return R"({"inputs":[{"name":"raw",)" + input + "}]" + more + "}";
}

InferMessage make(const std::string& json, const std::string& binary = "") {
  Result<InferMessage> message = make_infer_message({json, binary}, max_voxel_bytes);
  EXPECT_TRUE(message) << (message ? "" : message.error().message);
  return message ? *std::move(message) : InferMessage{std::make_unique<inference::ModelInferRequest>()};
}

void expect_message_refused(const std::string& json, const std::string& binary, ErrorCode code,
                            const std::string& part) {
  const Result<InferMessage> message = make_infer_message({json, binary}, max_voxel_bytes);
  ASSERT_FALSE(message) << json;
  EXPECT_EQ(message.error().code, code) << json;
  EXPECT_THAT(message.error().message, HasSubstr(part)) << json;
}

void expect_invalid(const std::string& json, const std::string& binary, const std::string& part) {
  expect_message_refused(json, binary, ErrorCode::invalid_argument, part);
}

TEST(InferMessage, NumbersBecomeRawVoxels) {
  const InferMessage message = make(message_with(R"("datatype":"FP32","shape":[1,1,2],"data":[0.5,-1])"));
  ASSERT_EQ(message.request->raw_input_contents_size(), 1);
  const std::vector<float> expected = {0.5F, -1};
  ASSERT_EQ(message.request->raw_input_contents(0).size(), 8U);
  EXPECT_EQ(std::memcmp(message.request->raw_input_contents(0).data(), expected.data(), 8), 0);
  EXPECT_FALSE(message.binary_output);
  EXPECT_EQ(make(message_with(R"("data":[1,2],"shape":[2],"datatype":"UINT8")")).request->raw_input_contents(0), "\1\2")
      << "in any order";
}

TEST(InferMessage, BinaryVoxelsAreMovedAsTheyAre) {
  std::string voxels(1000, 'v');
  const char* const place = voxels.data();
  Result<InferMessage> message = make_infer_message(
      {message_with(R"("datatype":"FP16","shape":[500],"parameters":{"binary_data_size":1000})"), std::move(voxels)},
      max_voxel_bytes);
  ASSERT_TRUE(message) << message.error().message;
  EXPECT_EQ(message->request->raw_input_contents(0).data(), place) << "without a copy";
}

TEST(InferMessage, AllOutputsAreBinaryOrNone) {
  const std::string input = R"("datatype":"UINT8","shape":[1],"data":[1])";
  const auto outputs = [&](const char* first, const char* second) {
    return message_with(input, std::string(R"(,"outputs":[{"name":"a","parameters":{"binary_data":)") + first +
                                   R"(}},{"name":"b","parameters":{"binary_data":)" + second + "}}]");
  };
  EXPECT_TRUE(make(outputs("true", "true")).binary_output);
  EXPECT_FALSE(make(outputs("false", "false")).binary_output);
  expect_invalid(outputs("true", "false"), "", "binary_data is true for some outputs and false for others");
}

TEST(InferMessage, TheOutputIsBinaryWhereAskedFor) {
  const std::string input = R"("datatype":"UINT8","shape":[1],"data":[1])";
  EXPECT_TRUE(make(message_with(input, R"(,"parameters":{"binary_data_output":true})")).binary_output);
  EXPECT_TRUE(
      make(message_with(input, R"(,"outputs":[{"name":"o","parameters":{"binary_data":true}}])")).binary_output);
  EXPECT_FALSE(make(message_with(input, R"(,"outputs":[{"name":"o","parameters":{"binary_data":false}}],)"
                                        R"("parameters":{"binary_data_output":true})"))
                   .binary_output)
      << "the output's own word goes first";
  EXPECT_TRUE(
      make(message_with(input, R"(,"outputs":[{"name":"o"}],"parameters":{"binary_data_output":true})")).binary_output);
}

// Returns a request of two inputs; `a` and `b` are what they say beside their names.
std::string two_inputs(const std::string& a, const std::string& b) {
  return R"({"inputs":[{"name":"a",)" + a + R"(},{"name":"b",)" + b + "}]}";
}

TEST(InferMessage, SeveralInputsFollowEachOtherBehindTheJson) {
  const std::string four = R"("datatype":"UINT8","shape":[4],"parameters":{"binary_data_size":4})";
  const std::string none = R"("datatype":"UINT8","shape":[0],"parameters":{"binary_data_size":0})";
  const std::string numbers = R"("datatype":"UINT8","shape":[2],"data":[120,121])";
  const auto voxels = [](const std::string& json, const std::string& binary) {
    const InferMessage message = make(json, binary);
    std::vector<std::string> parts;
    for (const std::string& raw : message.request->raw_input_contents()) parts.push_back(raw);
    return parts;
  };
  EXPECT_THAT(voxels(two_inputs(four, four), "abcdefgh"), testing::ElementsAre("abcd", "efgh"));
  EXPECT_THAT(voxels(two_inputs(none, four), "abcd"), testing::ElementsAre("", "abcd"));
  EXPECT_THAT(voxels(two_inputs(numbers, four), "abcd"), testing::ElementsAre("xy", "abcd"));
  EXPECT_THAT(voxels(two_inputs(four, numbers), "abcd"), testing::ElementsAre("abcd", "xy"));
  const std::string shared = R"("datatype":"UINT8","shape":[4],"parameters":{"shared_memory_region":"r"})";
  EXPECT_THAT(voxels(two_inputs(shared, four), "abcd"), testing::ElementsAre("abcd"));
  expect_invalid(two_inputs(four, four), "abcdefg", "7 bytes found behind the JSON, expected 8");
  expect_invalid(two_inputs(four, R"("datatype":"UINT8","shape":[4])"), "abcd", "input 'b': no data found");
}

TEST(InferMessage, NumbersOfAllInputsTogetherAreBounded) {
  const std::string json =
      two_inputs(R"("datatype":"FP32","shape":[3],"data":[1,2,3])", R"("datatype":"FP32","shape":[2],"data":[1,2])");
  EXPECT_TRUE(make_infer_message({json, ""}, 20));
  const Result<InferMessage> message = make_infer_message({json, ""}, 19);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().code, ErrorCode::over_budget);
  EXPECT_THAT(message.error().message, HasSubstr("input 'b': 20 bytes of voxels found, at most 19 are taken"));
}

TEST(InferMessage, SizesOfBinaryDataMustBeThoseOfTheBody) {
  const std::string input = R"("datatype":"UINT8","shape":[4],"parameters":{"binary_data_size":4})";
  EXPECT_EQ(make(message_with(input), "abcd").request->raw_input_contents(0), "abcd");
  expect_invalid(message_with(input), "abc", "3 bytes found behind the JSON, expected 4");
  expect_invalid(message_with(input), "abcde", "5 bytes found behind the JSON, expected 4");
  expect_invalid(message_with(input), "", "0 bytes found behind the JSON, expected 4");
  expect_invalid(message_with(R"("datatype":"UINT8","shape":[1],"data":[1])"), "a",
                 "1 bytes found behind the JSON, expected 0");
  expect_invalid(message_with(R"("data":[1],"parameters":{"binary_data_size":1})"), "a",
                 "both data and binary_data_size");
  const std::string huge = R"({"name":"a","parameters":{"binary_data_size":9223372036854775807}})";
  expect_invalid(R"({"inputs":[)" + huge + "," + huge + "]}", "a", "1 bytes found behind the JSON");
}

TEST(InferMessage, NumbersMustBeThoseOfTheShape) {
  expect_invalid(message_with(R"("datatype":"FP32","shape":[2,2],"data":[1,2,3])"), "",
                 "input 'raw': 3 values found, expected 4 for its shape");
  expect_invalid(message_with(R"("datatype":"FP32","shape":[0],"data":[1])"), "", "1 values found, expected 0");
  expect_invalid(message_with(R"("datatype":"FP32","shape":[-2,-1],"data":[1,2])"), "", "2 values found, expected 0");
  expect_invalid(message_with(R"("datatype":"FP32","shape":[4611686018427387904,8],"data":[1])"), "", "1 values found");
  expect_invalid(message_with(R"("datatype":"UINT8","shape":[1],"data":[300])"), "", "input 'raw': data[0]");
}

// Reads two bytes of JSON as four of a float.
TEST(InferMessage, NumbersThatTakeMoreMemoryThanVoxelsMayAreNotRead) {
  std::string data = "0";
  for (int i = 1; i < 1000; ++i) data += ",0";
  const std::string json = message_with(R"("datatype":"FP32","shape":[1000],"data":[)" + data + "]");
  EXPECT_TRUE(make_infer_message({json, ""}, 4000));
  const Result<InferMessage> message = make_infer_message({json, ""}, 3999);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().code, ErrorCode::over_budget);
  EXPECT_THAT(message.error().message, HasSubstr("4000 bytes of voxels found, at most 3999 are taken"));
}

TEST(InferMessage, Float16IsBinaryOnly) {
  expect_invalid(message_with(R"("datatype":"FP16","shape":[1],"data":[1])"), "", "expected binary data: FP16");
  const std::string input = R"("datatype":"UINT8","shape":[1],"data":[1])";
  expect_invalid(message_with(input, R"(,"parameters":{"output_datatype":"FP16"})"), "", "binary_data_output");
  EXPECT_TRUE(
      make(message_with(input, R"(,"parameters":{"output_datatype":"FP16","binary_data_output":true})")).binary_output);
}

TEST(InferMessage, WhatTheModelHasToSayIsLeftToIt) {
  EXPECT_EQ(make(message_with(R"("datatype":"FP64","shape":[1],"data":[1])")).request->raw_input_contents_size(), 0);
  EXPECT_EQ(make(R"({"inputs":[]})").request->inputs_size(), 0);
  const std::string two = R"({"inputs":[{"name":"a","datatype":"UINT8","shape":[1],"data":[1]},{"name":"b"}]})";
  expect_invalid(two, "", "input 'b': no data found, expected data or binary_data_size");
  const InferMessage shared =
      make(message_with(R"("datatype":"UINT8","shape":[1],"parameters":{"shared_memory_region":"r"})"));
  EXPECT_EQ(shared.request->raw_input_contents_size(), 0);
  EXPECT_EQ(shared.request->inputs(0).parameters().at("shared_memory_region").string_param(), "r");
}

TEST(InferMessage, WhatIsNoRequestIsRefused) {
  expect_invalid("", "", "of the JSON");
  expect_invalid("[]", "", "expected an object");
}

}  // namespace
}  // namespace znni::rest
