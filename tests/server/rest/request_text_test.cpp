#include "server/rest/request_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace znni::rest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

RequestText read(const std::string& json) {
  Result<RequestText> text = read_request_text(json);
  EXPECT_TRUE(text) << json << ": " << (text ? "" : text.error().message);
  return text ? *std::move(text) : RequestText();
}

void expect_text_refused(const std::string& json, const std::string& part) {
  const Result<RequestText> text = read_request_text(json);
  ASSERT_FALSE(text) << json.substr(0, 200);
  EXPECT_EQ(text.error().code, ErrorCode::invalid_argument) << json.substr(0, 200);
  EXPECT_THAT(text.error().message, HasSubstr(part)) << json.substr(0, 200);
}

std::string in_input(const std::string& fields) { return R"({"inputs":[{)" + fields + "}]}"; }

TEST(RequestText, AllFieldsAreRead) {
  const std::string json =
      R"({"id":"job-1","parameters":{"priority":2,"timeout":18446744073709551615,"ratio":0.5,"flag":true,"name":"x"},)"
      R"("inputs":[{"name":"raw","datatype":"FP32","shape":[1,1,2],"parameters":{"hint":-3},"data":[1,2]}],)"
      R"("outputs":[{"name":"out","parameters":{"binary_data":true,"other":"y"}},{"name":"two"}]})";
  const RequestText text = read(json);
  const auto& message = text.message;
  EXPECT_EQ(message.id(), "job-1");
  EXPECT_EQ(message.parameters().at("priority").int64_param(), 2);
  EXPECT_EQ(message.parameters().at("timeout").uint64_param(), 18446744073709551615U);
  EXPECT_EQ(message.parameters().at("ratio").double_param(), 0.5);
  EXPECT_TRUE(message.parameters().at("flag").bool_param());
  EXPECT_EQ(message.parameters().at("name").string_param(), "x");
  ASSERT_EQ(message.inputs_size(), 1);
  EXPECT_EQ(message.inputs(0).name(), "raw");
  EXPECT_EQ(message.inputs(0).datatype(), "FP32");
  EXPECT_THAT(message.inputs(0).shape(), ElementsAre(1, 1, 2));
  EXPECT_EQ(message.inputs(0).parameters().at("hint").int64_param(), -3);
  ASSERT_EQ(text.inputs.size(), 1U);
  EXPECT_TRUE(text.inputs[0].has_data);
  EXPECT_EQ(text.inputs[0].values, 2);
  EXPECT_EQ(json.substr(text.inputs[0].begin, text.inputs[0].end - text.inputs[0].begin), "[1,2]");
  ASSERT_EQ(message.outputs_size(), 2);
  EXPECT_EQ(message.outputs(0).name(), "out");
  EXPECT_EQ(message.outputs(0).parameters().size(), 1U) << "binary_data is no parameter of the message";
  EXPECT_THAT(text.outputs_binary, ElementsAre(std::optional(true), std::nullopt));
}

TEST(RequestText, TheBinaryExtensionIsTold) {
  const RequestText text = read(
      R"({"parameters":{"binary_data_output":true},"inputs":[{"name":"a","parameters":{"binary_data_size":24}},{"name":"b"}]})");
  EXPECT_TRUE(text.binary_output);
  EXPECT_TRUE(text.message.parameters().empty());
  EXPECT_TRUE(text.message.inputs(0).parameters().empty());
  EXPECT_EQ(text.inputs[0].binary_bytes, 24);
  EXPECT_EQ(text.inputs[1].binary_bytes, std::nullopt);
  EXPECT_FALSE(text.inputs[1].has_data);
}

TEST(RequestText, DataMayBeNested) {
  const std::string json = in_input(R"("data":[[[1,2],[3]],[[4.5]]],"name":"raw")");
  const RequestText text = read(json);
  EXPECT_EQ(text.inputs[0].values, 4);
  EXPECT_EQ(json.substr(text.inputs[0].begin, text.inputs[0].end - text.inputs[0].begin), "[[[1,2],[3]],[[4.5]]]");
  EXPECT_EQ(text.message.inputs(0).name(), "raw");
}

TEST(RequestText, UnknownKeysArePassedOver) {
  const RequestText text = read(
      R"({"later":{"id":7,"inputs":[{"name":1}]},"list":[[1],{"a":null}],"id":"x","inputs":[{"more":[1],"name":"raw"}]})");
  EXPECT_EQ(text.message.id(), "x");
  ASSERT_EQ(text.message.inputs_size(), 1);
  EXPECT_EQ(text.message.inputs(0).name(), "raw");
}

TEST(RequestText, AnEmptyObjectIsARequestWithoutInputs) { EXPECT_EQ(read("{}").message.inputs_size(), 0); }

TEST(RequestText, WrongKindsAreRefusedByTheirKey) {
  expect_text_refused("[]", "the request: found something else, expected an object");
  expect_text_refused("7", "the request: found something else, expected an object");
  expect_text_refused(R"({"id":7})", "'id': found something else, expected a string");
  expect_text_refused(R"({"id":{}})", "'id': found something else, expected a string");
  expect_text_refused(R"({"id":null})", "'id'");
  expect_text_refused(R"({"inputs":{}})", "'inputs': found something else, expected an array");
  expect_text_refused(R"({"inputs":"raw"})", "'inputs': found something else, expected an array");
  expect_text_refused(R"({"inputs":[7]})", "'inputs': found something else, expected an object");
  expect_text_refused(R"({"inputs":[[]]})", "'inputs': found something else, expected an object");
  expect_text_refused(R"({"outputs":[null]})", "'outputs'");
  expect_text_refused(R"({"parameters":[]})", "'parameters': found something else, expected an object");
  expect_text_refused(R"({"parameters":{"x":{}}})",
                      "'x': found something else, expected a string, a number, true or false");
  expect_text_refused(R"({"parameters":{"x":[1]}})", "'x'");
  expect_text_refused(R"({"parameters":{"x":null}})", "'x'");
  expect_text_refused(R"({"parameters":{"binary_data_output":1}})", "'binary_data_output': expected true or false");
  expect_text_refused(R"({"outputs":[{"parameters":{"binary_data":"yes"}}]})", "'binary_data': expected true or false");
}

TEST(RequestText, WrongKindsInAnInputAreRefused) {
  expect_text_refused(in_input(R"("name":1)"), "'name': found something else, expected a string");
  expect_text_refused(in_input(R"("datatype":["FP32"])"), "'datatype'");
  expect_text_refused(in_input(R"("shape":4)"), "'shape': found something else, expected an array");
  expect_text_refused(in_input(R"("shape":[1.5])"), "'shape': found something else, expected whole numbers");
  expect_text_refused(in_input(R"("shape":["1"])"), "'shape'");
  expect_text_refused(in_input(R"("shape":[[1]])"), "'shape'");
  expect_text_refused(in_input(R"("shape":[9223372036854775808])"), "'shape'");
  expect_text_refused(in_input(R"("shape":[1e30])"), "'shape'");
  expect_text_refused(in_input(R"("data":7)"), "'data': found something else, expected an array of numbers");
  expect_text_refused(in_input(R"("data":{"a":1})"), "'data'");
  expect_text_refused(in_input(R"("data":["7"])"), "'data'");
  expect_text_refused(in_input(R"("data":[true])"), "'data'");
  expect_text_refused(in_input(R"("data":[null])"), "'data'");
  expect_text_refused(in_input(R"("parameters":{"binary_data_size":-1})"), "'binary_data_size'");
  expect_text_refused(in_input(R"("parameters":{"binary_data_size":1.0})"), "'binary_data_size'");
  expect_text_refused(in_input(R"("parameters":{"binary_data_size":9223372036854775808})"), "'binary_data_size'");
}

TEST(RequestText, WhatComesTwiceIsRefused) {
  expect_text_refused(R"({"id":"a","id":"b"})", "'id' found twice, expected once");
  expect_text_refused(R"({"inputs":[],"inputs":[]})", "'inputs' found twice");
  expect_text_refused(in_input(R"("data":[1],"data":[2])"), "'data' found twice");
  expect_text_refused(R"({"parameters":{"x":1,"x":2}})", "parameter 'x' found twice");
  EXPECT_EQ(read(R"({"inputs":[{"name":"a"},{"name":"b"}]})").message.inputs_size(), 2) << "each has a name of its own";
}

// Bounds lists: a few bytes of JSON are hundreds of a message.
TEST(RequestText, ListsAreBounded) {
  const auto list = [](const std::string& one, int count) {
    std::string text = one;
    for (int i = 1; i < count; ++i) text += "," + one;
    return text;
  };
  EXPECT_EQ(read(R"({"inputs":[)" + list("{}", max_listed) + "]}").message.inputs_size(), max_listed);
  expect_text_refused(R"({"inputs":[)" + list("{}", max_listed + 1) + "]}", "more than 64 found in one list");
  expect_text_refused(R"({"outputs":[)" + list("{}", max_listed + 1) + "]}", "more than 64 found in one list");
  expect_text_refused(in_input(R"("shape":[)" + list("1", max_listed + 1) + "]"), "more than 64 found in one list");
  std::string parameters = R"("p":1)";
  for (int i = 0; i < max_listed; ++i) parameters += ",\"" + std::to_string(i) + "\":1";
  expect_text_refused(R"({"parameters":{)" + parameters + "}}", "more than 64 found in one list");
}

TEST(RequestText, NamesInErrorsAreCut) {
  const Result<RequestText> text = read_request_text(R"({"parameters":{")" + std::string(1000, 'k') + R"(":null}})");
  ASSERT_FALSE(text);
  EXPECT_LT(text.error().message.size(), 200U);
}

}  // namespace
}  // namespace znni::rest
