#include "server/rest/response_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni::rest {
namespace {

inference::ModelInferResponse response_with(const std::string& raw) {
  inference::ModelInferResponse response;
  response.set_model_name("twice");
  response.set_model_version("2");
  response.set_id("job-1");
  auto& output = *response.add_outputs();
  output.set_name("out");
  output.set_datatype("UINT8");
  for (const int extent : {1, 1, 2}) output.add_shape(extent);
  if (!raw.empty()) response.add_raw_output_contents(raw);
  return response;
}

TEST(ResponseText, SmallAnswers) {
  EXPECT_EQ(error_text("no \"x\"\xff"), "{\"error\":\"no \\\"x\\\"\xEF\xBF\xBD\"}") << "no UTF-8, and still JSON";
  EXPECT_EQ(live_text(), R"({"live":true})");
  EXPECT_EQ(ready_text(false), R"({"ready":false})");
  EXPECT_EQ(model_ready_text("twice", true), R"({"name":"twice","ready":true})");
}

TEST(ResponseText, TheServerAndItsModels) {
  inference::ServerMetadataResponse server;
  server.set_name("znni");
  server.set_version("1.2");
  server.add_extensions("binary_tensor_data");
  EXPECT_EQ(to_text(server), R"({"name":"znni","version":"1.2","extensions":["binary_tensor_data"]})");
  inference::ModelMetadataResponse model;
  model.set_name("twice");
  model.add_versions("1");
  model.set_platform("znni");
  auto& input = *model.add_inputs();
  input.set_name("raw");
  input.set_datatype("FP32");
  input.add_shape(-1);
  (*model.mutable_properties())["patch"] = "1,2,3";
  EXPECT_EQ(
      to_text(model),
      R"({"name":"twice","versions":["1"],"platform":"znni","inputs":[{"name":"raw","datatype":"FP32","shape":[-1]}],)"
      R"("outputs":[],"properties":{"patch":"1,2,3"}})");
}

TEST(ResponseText, NumbersStandBetweenHeadAndTail) {
  const InferText text = infer_text(response_with("ab"), false);
  ASSERT_EQ(text.tails.size(), 1U);
  EXPECT_EQ(text.head + "97,98" + text.tails.front(),
            R"({"model_name":"twice","model_version":"2","id":"job-1","outputs":[{"name":"out","datatype":"UINT8",)"
            R"("shape":[1,1,2],"data":[97,98]}]})");
}

TEST(ResponseText, BinaryVoxelsStandBehindTheirSize) {
  inference::ModelInferResponse response = response_with("ab");
  response.clear_id();
  (*response.mutable_parameters())["nonfinite_voxels"].set_int64_param(5);
  const InferText text = infer_text(response, true);
  EXPECT_EQ(text.head,
            R"({"model_name":"twice","model_version":"2","parameters":{"nonfinite_voxels":5},"outputs":[{"name":"out",)"
            R"("datatype":"UINT8","shape":[1,1,2],"parameters":{"binary_data_size":2}}]})");
  EXPECT_EQ(text.tails, std::vector<std::string>{""});
}

TEST(ResponseText, EachOutputHasItsNumbers) {
  inference::ModelInferResponse response = response_with("ab");
  *response.add_outputs() = response.outputs(0);
  response.mutable_outputs(1)->set_name("more");
  response.add_raw_output_contents("c");
  const InferText numbers = infer_text(response, false);
  ASSERT_EQ(numbers.tails.size(), 2U);
  EXPECT_EQ(numbers.head + "97,98" + numbers.tails[0] + "99" + numbers.tails[1],
            R"({"model_name":"twice","model_version":"2","id":"job-1","outputs":[{"name":"out","datatype":"UINT8",)"
            R"("shape":[1,1,2],"data":[97,98]},{"name":"more","datatype":"UINT8","shape":[1,1,2],"data":[99]}]})");
  EXPECT_EQ(numbers.bytes(), static_cast<std::int64_t>((numbers.head + numbers.tails[0] + numbers.tails[1]).size()));
  const InferText binary = infer_text(response, true);
  EXPECT_THAT(binary.head, testing::HasSubstr(R"({"binary_data_size":2}},{"name":"more")"));
  EXPECT_THAT(binary.head, testing::EndsWith(R"({"binary_data_size":1}}]})"));
  EXPECT_EQ(binary.tails, std::vector<std::string>(2));
}

TEST(ResponseText, VoxelsInSharedMemoryAreNotInTheText) {
  for (const bool binary : {false, true}) {
    inference::ModelInferResponse response = response_with("");
    (*response.mutable_outputs(0)->mutable_parameters())["shared_memory_region"].set_string_param("r");
    const InferText text = infer_text(response, binary);
    EXPECT_EQ(text.head,
              R"({"model_name":"twice","model_version":"2","id":"job-1","outputs":[{"name":"out","datatype":"UINT8",)"
              R"("shape":[1,1,2],"parameters":{"shared_memory_region":"r"}}]})");
    EXPECT_TRUE(text.tails.empty());
  }
}

TEST(ResponseText, AllKindsOfParameters) {
  inference::ModelInferResponse response = response_with("ab");
  response.clear_outputs();
  auto& parameters = *response.mutable_parameters();
  parameters["p"].set_bool_param(true);
  EXPECT_NE(infer_text(response, true).head.find(R"("parameters":{"p":true})"), std::string::npos);
  parameters["p"].set_string_param("s");
  EXPECT_NE(infer_text(response, true).head.find(R"("parameters":{"p":"s"})"), std::string::npos);
  parameters["p"].set_double_param(0.5);
  EXPECT_NE(infer_text(response, true).head.find(R"("parameters":{"p":0.5})"), std::string::npos);
  parameters["p"].set_uint64_param(7);
  EXPECT_NE(infer_text(response, true).head.find(R"("parameters":{"p":7})"), std::string::npos);
  parameters["p"].Clear();
  EXPECT_NE(infer_text(response, true).head.find(R"("parameters":{"p":null})"), std::string::npos);
}

}  // namespace
}  // namespace znni::rest
