#include "proto/convert/text/model_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/cases.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::StartsWith;

std::string parameter(const std::string& name, const std::string& value) {
  return "parameters { key: \"" + name + "\" value { string_value: \"" + value + "\" } }\n";
}

ModelSettings parsed(std::string_view text) {
  Result<ModelSettings> settings = parse_model_config(text);
  EXPECT_TRUE(settings) << (settings ? "" : settings.error().message);
  return settings ? *std::move(settings) : ModelSettings{};
}

std::string config_refusal(std::string_view text) {
  const Result<ModelSettings> settings = parse_model_config(text);
  return settings ? "" : settings.error().message;
}

TEST(ModelConfig, NothingSaidIsTheDefault) {
  const ModelSettings settings = parsed("");
  EXPECT_EQ(settings.name, "");
  EXPECT_EQ(settings.input_scale, 1);
  EXPECT_EQ(settings.input_offset, 0);
  EXPECT_EQ(settings.input_zscore, InputZscore::none);
  EXPECT_EQ(settings.input_nonfinite, std::nullopt);
  EXPECT_EQ(settings.output_activation, OutputActivation::none);
  EXPECT_EQ(settings.output_grid, OutputGrid::dense);
  EXPECT_THAT(settings.outputs, IsEmpty());
  EXPECT_THAT(settings.window, IsEmpty());
  EXPECT_EQ(settings.window_overlap, std::nullopt);
  EXPECT_EQ(settings.window_weight, std::nullopt);
  EXPECT_THAT(settings.warnings, IsEmpty());
}

TEST(ModelConfig, OurParameters) {
  const ModelSettings settings =
      parsed("name: \"m\"\n" + parameter("input_scale", "0.03125") + parameter("input_offset", "-4.1015625") +
             parameter("input_zscore", "volume") + parameter("input_nonfinite", "-2.5") +
             parameter("output_activation", "sigmoid") + parameter("output_grid", "network") +
             parameter("outputs", "mask,affinities") + parameter("window", "64,128,96") +
             parameter("window_overlap", "0.25") + parameter("window_weight", "constant"));
  EXPECT_EQ(settings.name, "m");
  EXPECT_EQ(settings.input_scale, 0.03125F);
  EXPECT_EQ(settings.input_offset, -4.1015625F);
  EXPECT_EQ(settings.input_zscore, InputZscore::volume);
  EXPECT_EQ(settings.input_nonfinite, -2.5F);
  EXPECT_EQ(settings.output_activation, OutputActivation::sigmoid);
  EXPECT_EQ(settings.output_grid, OutputGrid::network);
  EXPECT_THAT(settings.outputs, ElementsAre("mask", "affinities"));
  EXPECT_THAT(settings.window, ElementsAre(64, 128, 96));
  EXPECT_EQ(settings.window_overlap, 0.25);
  EXPECT_EQ(settings.window_weight, WindowFalloff::constant);
  EXPECT_THAT(settings.extra, IsEmpty());
  EXPECT_THAT(settings.warnings, IsEmpty());
  EXPECT_EQ(settings.config.parameters_size(), 10);
}

TEST(ModelConfig, WrongValuesNameParameterFoundAndAllowed) {
  EXPECT_EQ(config_refusal(parameter("input_scale", "1,5")),
            "parameter 'input_scale' is '1,5'; a finite number is right");
  EXPECT_THAT(config_refusal(parameter("input_offset", "inf")), HasSubstr("a finite number is right"));
  EXPECT_THAT(config_refusal(parameter("input_offset", "")), HasSubstr("parameter 'input_offset' is ''"));
  EXPECT_EQ(config_refusal(parameter("input_nonfinite", "nan")),
            "parameter 'input_nonfinite' is 'nan'; a finite number is right");
  EXPECT_EQ(config_refusal(parameter("input_zscore", "both")),
            "parameter 'input_zscore' is 'both'; none or patch or volume is right");
  EXPECT_EQ(config_refusal(parameter("output_grid", "Dense")),
            "parameter 'output_grid' is 'Dense'; dense or network is right");
  EXPECT_EQ(config_refusal(parameter("output_activation", "relu")),
            "parameter 'output_activation' is 'relu'; none or sigmoid or tanh or softmax is right");
}

TEST(ModelConfig, MemoryIsASizeOrAShare) {
  EXPECT_EQ(parsed(parameter("memory", "4G")).memory, std::int64_t{4} << 30);
  EXPECT_EQ(parsed(parameter("memory_share", "1000")).memory_share, 1000);
  EXPECT_EQ(parsed("").memory, std::nullopt);
  EXPECT_EQ(parsed("").memory_share, 1);
  EXPECT_EQ(config_refusal(parameter("memory", "much")),
            "parameter 'memory' is 'much'; a size, such as 4G or 512M, is right");
  for (const char* wrong : {"", "0", "-1", "1.5", "1001", "2 ", "99999999999999999999"}) {
    EXPECT_EQ(config_refusal(parameter("memory_share", wrong)),
              "parameter 'memory_share' is '" + std::string(wrong) + "'; a whole number from 1 to 1000 is right");
  }
  EXPECT_THAT(config_refusal(parameter("memory", "4G") + parameter("memory_share", "2")),
              HasSubstr("'memory' and 'memory_share' exclude each other"));
}

TEST(ModelConfig, AWindowHasOneToThreeNumbers) {
  EXPECT_THAT(parsed(parameter("window", "128")).window, ElementsAre(128));
  EXPECT_THAT(parsed(parameter("window", "64x96")).window, ElementsAre(64, 96));
  EXPECT_EQ(config_refusal(parameter("window", "64,0,64")),
            "parameter 'window' is '64,0,64'; a number of voxels for each axis, such as 64,128,128, or one for all, "
            "128, is right");
  for (const char* wrong :
       {"", "64,", "64,64,64,64", "64,64,64,", "64 64", "-8", "8.5", "cube", "99999999999999999999", "9999999999"}) {
    EXPECT_THAT(config_refusal(parameter("window", wrong)), StartsWith("parameter 'window' is '")) << wrong;
  }
}

TEST(ModelConfig, OutputsAreNamesWithCommas) {
  EXPECT_THAT(parsed(parameter("outputs", "prob")).outputs, ElementsAre("prob"));
  EXPECT_THAT(parsed(parameter("outputs", "b,a 2,c")).outputs, ElementsAre("b", "a 2", "c"));
  for (const char* wrong : {"", ",", "a,", ",a", "a,,b", "a,a"}) {
    EXPECT_THAT(config_refusal(parameter("outputs", wrong)),
                HasSubstr("a list of different names, such as a,b, is right"));
  }
}

TEST(ModelConfig, WindowsOverlapByAShare) {
  EXPECT_EQ(parsed(parameter("window_overlap", "0")).window_overlap, 0.0);
  EXPECT_EQ(parsed(parameter("window_overlap", "0.75")).window_overlap, 0.75);
  EXPECT_EQ(config_refusal(parameter("window_overlap", "1")),
            "parameter 'window_overlap' is '1'; a share of the window, from 0 to below 1, is right");
  for (const char* wrong : {"", "-0.5", "1.5", "50%", "nan", "inf", "0,5", "half"}) {
    EXPECT_THAT(config_refusal(parameter("window_overlap", wrong)), StartsWith("parameter 'window_overlap' is '"))
        << wrong;
  }
  EXPECT_EQ(parsed(parameter("window_weight", "gaussian")).window_weight, WindowFalloff::gaussian);
  EXPECT_EQ(config_refusal(parameter("window_weight", "linear")),
            "parameter 'window_weight' is 'linear'; gaussian or constant is right");
}

TEST(ModelConfig, OtherParametersAreKeptWithAWarning) {
  const ModelSettings settings = parsed(parameter("input_scal", "2"));
  EXPECT_THAT(settings.extra, ElementsAre(Pair("input_scal", "2")));
  EXPECT_THAT(settings.warnings, ElementsAre(HasSubstr("parameter 'input_scal' has no effect; input_scale")));
}

TEST(ModelConfig, TritonsOtherFieldsAreIgnoredWithAWarning) {
  const ModelSettings settings = parsed(R"(
platform: "onnxruntime_onnx"
max_batch_size: 0
input [ { name: "raw" data_type: TYPE_FP32 format: FORMAT_NONE dims: [ 1, -1, -1, -1 ] reshape { shape: [ 1 ] } } ]
output { name: "out" data_type: TYPE_FP32 dims: [1, -1, -1, -1] label_filename: "labels.txt" }
version_policy: { latest { num_versions: 1 } }
instance_group [ { count: 1 kind: KIND_GPU gpus: [ 0, 1 ] } ]
dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100 }
optimization { execution_accelerators { gpu_execution_accelerator: [ { name: "tensorrt" } ] } }
model_warmup [ { name: "zero" batch_size: 1 inputs { key: "raw" value: { data_type: TYPE_FP32 dims: 4 zero_data: true } } } ]
response_cache { enable: false }
model_transaction_policy { decoupled: false }
backend: "onnxruntime"
)");
  EXPECT_THAT(settings.warnings,
              ElementsAre("line 4: reshape has no effect here", "line 5: label_filename has no effect here",
                          "line 6: version_policy has no effect here", "line 7: instance_group has no effect here",
                          "line 8: dynamic_batching has no effect here", "line 9: optimization has no effect here",
                          "line 10: model_warmup has no effect here"));
  ASSERT_EQ(settings.config.input_size(), 1);
  EXPECT_EQ(settings.config.input(0).data_type(), inference::TYPE_FP32);
  EXPECT_EQ(settings.config.input(0).dims_size(), 4);
  EXPECT_EQ(settings.config.backend(), "onnxruntime");
}

TEST(ModelConfig, FieldsNobodyKnowsAreErrors) {
  EXPECT_THAT(config_refusal("name: \"m\"\nnonsense: 3"),
              StartsWith("line 2: inference.ModelConfig has no field 'nonsense'; it has: name,"));
  EXPECT_THAT(config_refusal("input { name: \"x\" colour: 3 }"),
              StartsWith("line 1: inference.ModelInput has no field 'colour'"));
  EXPECT_THAT(config_refusal("input { data_type: FP32 }"), StartsWith("line 1: "));
  EXPECT_THAT(config_refusal("dynamic_batching {"), StartsWith("line 1: "));
}

TEST(ModelConfig, FilesAndTheirPaths) {
  const test::TemporaryDirectory folder;
  const std::string missing = folder.path() / "config.pbtxt";
  EXPECT_EQ(read_model_config(missing).error().code, ErrorCode::not_found);
  const std::string bad = folder.write("bad.pbtxt", parameter("input_zscore", "x"));
  EXPECT_THAT(read_model_config(bad).error().message, StartsWith(bad + ": parameter 'input_zscore' is 'x'; none"));
  const std::string odd = folder.write("odd.pbtxt", "optimization {}");
  EXPECT_THAT(read_model_config(odd)->warnings, ElementsAre(odd + ": line 1: optimization has no effect here"));
}

TEST(ModelConfig, TheShippedModels) {
  const std::filesystem::path path =
      test::case_folder().parent_path().parent_path() / "deploy/models/fib25-boundary/config.pbtxt";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  const Result<ModelSettings> settings = read_model_config(path);
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_THAT(settings->warnings, IsEmpty());
  EXPECT_EQ(settings->name, "fib25-boundary");
}

}  // namespace
}  // namespace znni
