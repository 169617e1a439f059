#include "server/rpc/messages/model_description.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/rpc/requests.hpp"

namespace znni::rpc {
namespace {

using testing::ElementsAre;

ModelInfo flat_model() { return *FakeModelServer().find("flat", ""); }

TEST(ModelDescription, Metadata) {
  const auto metadata = describe_metadata(twice_model(), {"1", "2"}, {1000, 2000, 3000});
  EXPECT_EQ(metadata.name(), "twice");
  EXPECT_EQ(metadata.platform(), "znni");
  EXPECT_THAT(metadata.versions(), ElementsAre("1", "2"));
  ASSERT_EQ(metadata.inputs_size(), 1);
  EXPECT_EQ(metadata.inputs(0).name(), "raw");
  EXPECT_EQ(metadata.inputs(0).datatype(), "FP32");
  EXPECT_THAT(metadata.inputs(0).shape(), ElementsAre(-1, 1, -1, -1, -1));
  EXPECT_EQ(metadata.outputs(0).name(), "probability");
  EXPECT_THAT(metadata.outputs(0).shape(), ElementsAre(-1, 2, -1, -1, -1));
}

TEST(ModelDescription, SeveralInputs) {
  const auto metadata = describe_metadata(masked_model(), {"1"}, {1000, 2000, 3000});
  ASSERT_EQ(metadata.inputs_size(), 2);
  EXPECT_EQ(metadata.inputs(1).name(), "mask");
  EXPECT_THAT(metadata.inputs(1).shape(), ElementsAre(-1, 1, -1, -1, -1));
  const auto config = describe_config(masked_model());
  ASSERT_EQ(config.input_size(), 2);
  EXPECT_EQ(config.input(1).name(), "mask");
  EXPECT_THAT(config.input(1).dims(), ElementsAre(-1, 1, -1, -1, -1));
}

TEST(ModelDescription, PropertiesTellWhatAClientNeeds) {
  auto properties = describe_metadata(twice_model(), {}, {1000, 2000, 3000}).properties();
  EXPECT_EQ(properties["field_of_view"], "3,3,3");
  EXPECT_EQ(properties["halo_before"], "1,1,1");
  EXPECT_EQ(properties["halo_after"], "1,1,1");
  EXPECT_EQ(properties["output_extent"], "input - field_of_view + 1");
  EXPECT_EQ(properties["patch"], "8,8,8");
  EXPECT_EQ(properties["predicted_voxels_per_second"], "1234");
  EXPECT_EQ(properties["plan_memory_bytes"], "600");
  EXPECT_EQ(properties["max_request_bytes"], "1000");
  EXPECT_EQ(properties["max_response_bytes"], "2000");
  EXPECT_EQ(properties["max_chunk_bytes"], "3000");
  EXPECT_EQ(properties["plan"], "patch 8x8x8");
  EXPECT_EQ(properties["precision"], "fp32");
  ModelInfo coarse = twice_model();
  coarse.precision = Precision::bf16;
  EXPECT_EQ(describe_metadata(coarse, {}, {}).properties().at("precision"), "bf16");
}

TEST(ModelDescription, LabelsAreTold) {
  ModelInfo model = twice_model();
  EXPECT_EQ(describe_metadata(model, {}, {}).properties().count("largest_channel_number"), 0);
  model.largest_channel_number = 4;
  EXPECT_EQ(describe_metadata(model, {}, {}).properties().at("largest_channel_number"), "4");
}

TEST(ModelDescription, HalvesOfAnEvenFieldOfViewAddUp) {
  ModelInfo model = twice_model();
  model.field_of_view = {4, 1, 7};
  auto properties = describe_metadata(model, {}, {}).properties();
  EXPECT_EQ(properties["halo_before"], "1,0,3");
  EXPECT_EQ(properties["halo_after"], "2,0,3");
}

TEST(ModelDescription, FlatModelsHaveFourDimensions) {
  const auto metadata = describe_metadata(flat_model(), {}, {});
  EXPECT_THAT(metadata.inputs(0).shape(), ElementsAre(-1, 1, -1, -1));
  EXPECT_EQ(metadata.properties().at("field_of_view"), "3,3");
}

TEST(ModelDescription, LinesHaveThreeDimensions) {
  const ModelInfo line = *FakeModelServer().find("line", "");
  const auto metadata = describe_metadata(line, {}, {});
  EXPECT_THAT(metadata.outputs(0).shape(), ElementsAre(-1, 2, -1));
  EXPECT_EQ(metadata.properties().at("field_of_view"), "3");
  EXPECT_EQ(metadata.properties().at("halo_before"), "1");
  EXPECT_THAT(describe_config(line).input(0).dims(), ElementsAre(-1, 1, -1));
}

TEST(ModelDescription, PaddingIsToldAlsoWhereItFollowsACrop) {
  ModelInfo model = twice_model();
  model.is_dense = false;
  EXPECT_FALSE(describe_metadata(model, {}, {}).properties().contains("padding_before"));
  model.padded = {0, 1, 1};
  EXPECT_EQ(describe_metadata(model, {}, {}).properties().at("padding_before"), "0,0,0");
  model.frame = {{0, 2, 2}, {0, 2, 1}};
  EXPECT_EQ(describe_metadata(model, {}, {}).properties().at("padding_before"), "0,2,2");
  EXPECT_EQ(describe_metadata(model, {}, {}).properties().at("padding_after"), "0,2,1");
}

TEST(ModelDescription, AModelThatNeedsTheWholeVolumeSaysSo) {
  ModelInfo model = twice_model();
  EXPECT_FALSE(describe_metadata(model, {}, {}).properties().contains("input_zscore"));
  model.whole_input = true;
  EXPECT_EQ(describe_metadata(model, {}, {}).properties().at("input_zscore"), "volume");
}

TEST(ModelDescription, AFingerprintTellsNetworksApart) {
  ModelInfo model = twice_model();
  EXPECT_FALSE(describe_metadata(model, {}, {}).properties().contains("fingerprint"));
  model.fingerprint = "0123abcd";
  EXPECT_EQ(describe_metadata(model, {}, {}).properties().at("fingerprint"), "0123abcd");
}

TEST(ModelDescription, ARepeatedOutputSaysHowOften) {
  ModelInfo model = twice_model();
  EXPECT_FALSE(describe_metadata(model, {}, {}).properties().contains("output_stride"));
  model.output_stride = {1, 2, 4};
  EXPECT_EQ(describe_metadata(model, {}, {}).properties().at("output_stride"), "1,2,4");
  model.window = {32, 64, 96};
  EXPECT_FALSE(describe_metadata(model, {}, {}).properties().contains("output_stride")) << "windows are blended";
}

TEST(ModelDescription, OutputsOfSeveralStridesSayHowOftenEachIsRepeated) {
  ModelInfo model = twice_model();
  model.outputs = {{"aux", 1, {1, 2, 4}}, {"mask", 2, {1, 2, 4}}};
  EXPECT_FALSE(describe_metadata(model, {}, {}).properties().contains("output_strides"));
  model.outputs[1].stride = Vec3::cube(1);
  EXPECT_EQ(describe_metadata(model, {}, {}).properties().at("output_strides"), "1,2,4;1,1,1");
  EXPECT_FALSE(describe_metadata(model, {}, {}).properties().contains("output_stride"));
  model.window = {32, 64, 96};
  EXPECT_FALSE(describe_metadata(model, {}, {}).properties().contains("output_strides")) << "windows are blended";
}

TEST(ModelDescription, AModelThatNormalisesSaysHowItsWindowsLie) {
  ModelInfo model = twice_model();
  model.window = {32, 64, 96};
  model.field_of_view = {1, 3, 1};
  model.min_input = {4, 6, 4};
  model.period = Vec3::cube(4);
  model.is_dense = false;
  const auto metadata = describe_metadata(model, {}, {});
  EXPECT_THAT(metadata.inputs(0).shape(), ElementsAre(-1, 1, -1, -1, -1));
  EXPECT_THAT(metadata.outputs(0).shape(), ElementsAre(-1, 2, -1, -1, -1));
  const auto& properties = metadata.properties();
  EXPECT_EQ(properties.at("window"), "32,64,96");
  EXPECT_EQ(properties.at("window_overlap"), "0.5");
  EXPECT_EQ(properties.at("window_weight"), "gaussian");
  EXPECT_EQ(properties.at("least_input"), "1,64,1") << "the window where voxels are lost";
  EXPECT_FALSE(properties.contains("input_period"));
  EXPECT_FALSE(properties.contains("halo_before"));
  EXPECT_THAT(describe_config(model).input(0).dims(), ElementsAre(-1, 1, -1, -1, -1));
  model.blend = {WindowWeight::constant, 0.1};
  EXPECT_EQ(describe_metadata(model, {}, {}).properties().at("window_overlap"), "0.1");
  EXPECT_EQ(describe_metadata(model, {}, {}).properties().at("window_weight"), "constant");
  for (const char* none : {"window", "window_overlap", "window_weight"}) {
    EXPECT_FALSE(describe_metadata(twice_model(), {}, {}).properties().contains(none)) << none;
  }
}

TEST(ModelDescription, SeveralOutputsHaveTheirOwnChannels) {
  ModelInfo model = twice_model();
  model.outputs = {{"affinities", 3}, {"mask", 1}};
  model.f_out = 4;
  const inference::ModelMetadataResponse metadata = describe_metadata(model, {}, {});
  ASSERT_EQ(metadata.outputs_size(), 2);
  EXPECT_EQ(metadata.outputs(0).name(), "affinities");
  EXPECT_THAT(metadata.outputs(0).shape(), ElementsAre(-1, 3, -1, -1, -1));
  EXPECT_EQ(metadata.outputs(1).name(), "mask");
  EXPECT_THAT(metadata.outputs(1).shape(), ElementsAre(-1, 1, -1, -1, -1));
  const inference::ModelConfig config = describe_config(model);
  ASSERT_EQ(config.output_size(), 2);
  EXPECT_EQ(config.output(1).name(), "mask");
  EXPECT_THAT(config.output(1).dims(), ElementsAre(-1, 1, -1, -1, -1));
}

TEST(ModelDescription, ConfigIsUnbatched) {
  const inference::ModelConfig config = describe_config(twice_model());
  EXPECT_EQ(config.name(), "twice");
  EXPECT_EQ(config.max_batch_size(), 0);
  EXPECT_FALSE(config.model_transaction_policy().decoupled());
  EXPECT_EQ(config.input(0).name(), "raw");
  EXPECT_EQ(config.input(0).data_type(), inference::TYPE_FP32);
  EXPECT_THAT(config.input(0).dims(), ElementsAre(-1, 1, -1, -1, -1));
  EXPECT_THAT(config.output(0).dims(), ElementsAre(-1, 2, -1, -1, -1));
}

TEST(ModelDescription, CountersAgree) {
  const ModelStatistics counted = FakeModelServer().statistics("twice", "2");
  const inference::ModelStatistics statistics = describe_statistics(twice_model(), counted);
  EXPECT_EQ(statistics.name(), "twice");
  EXPECT_EQ(statistics.version(), "2");
  EXPECT_EQ(statistics.inference_count(), 12U);
  EXPECT_EQ(statistics.execution_count(), 9U);
  EXPECT_EQ(statistics.batch_stats(0).compute_infer().count(), 9U);
  EXPECT_EQ(statistics.last_inference(), 5U);
  EXPECT_EQ(statistics.inference_stats().success().count(), 7U);
  EXPECT_EQ(statistics.inference_stats().success().ns(), 1000U);
  EXPECT_EQ(statistics.inference_stats().fail().count(), 3U);
  EXPECT_EQ(statistics.inference_stats().queue().ns(), 100U);
  EXPECT_EQ(statistics.inference_stats().compute_infer().ns(), 800U);
  EXPECT_EQ(statistics.memory_usage(0).byte_size(), 600U);
}

TEST(ModelDescription, IndexTellsStateAndReason) {
  const std::vector<ModelInfo> models = FakeModelServer().models();
  EXPECT_EQ(describe_index(models.front()).state(), "READY");
  EXPECT_EQ(describe_index(models.back()).state(), "UNAVAILABLE");
  EXPECT_EQ(describe_index(models.back()).reason(), "model.onnx: truncated");
  ModelInfo loading = models.front();
  loading.state = ModelState::loading;
  EXPECT_EQ(describe_index(loading).state(), "LOADING");
  ModelInfo unloaded = models.front();
  unloaded.state = ModelState::unloaded;
  EXPECT_EQ(describe_index(unloaded).state(), "UNAVAILABLE");
}

}  // namespace
}  // namespace znni::rpc
