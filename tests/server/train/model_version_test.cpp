#include "server/train/model_version.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/convert/network_file.hpp"
#include "proto/convert/text/model_config.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

LoadedNetwork small_network() {
  Network network;
  Convolution conv;
  conv.f_out = 2;
  conv.k = Vec3::cube(3);
  conv.activation.kind = ActivationKind::sigmoid;
  network.nodes.push_back({"conv", conv, {0}});
  NetworkWeights weights = random_weights(network, 1);
  return {std::move(network), std::move(weights)};
}

class ModelVersionTest : public testing::Test {
 protected:
  [[nodiscard]] std::string write(const InputScale& input = {}) const {
    const Result<std::string> version = write_model_version(small_network(), folder_.path(), input);
    EXPECT_TRUE(version) << (version ? "" : version.error().message);
    return version ? *version : "";
  }
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return folder_.path() / name; }
  [[nodiscard]] std::string folder_refusal(const InputScale& input) const {
    const Result<void> fits = check_model_folder(folder_.path(), input);
    return fits ? "" : fits.error().message;
  }
  [[nodiscard]] std::string config_refusal(std::string_view text) const {
    folder_.write("config.pbtxt", text);
    const Result<void> fits = check_model_config(folder_.path(), {0.5F, -1});
    if (fits) return "";
    EXPECT_THAT(fits.error().message, StartsWith(file("config.pbtxt").string() + ": "));
    return fits.error().message;
  }

  test::TemporaryDirectory folder_;
};

TEST_F(ModelVersionTest, TheFirstIsOneAndReadsBack) {
  EXPECT_EQ(write(), "1");
  const Result<LoadedNetwork> read = read_network_file(file("1/model.onnx").string());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->network.nodes.size(), 1);
  EXPECT_EQ(read->weights[0].kernels, small_network().weights[0].kernels);
  EXPECT_FALSE(std::filesystem::exists(file(".new-version")));
  EXPECT_FALSE(std::filesystem::exists(file("config.pbtxt")));
}

TEST_F(ModelVersionTest, WhatCannotBeWrittenIsSaidBefore) {
  EXPECT_TRUE(check_writable(small_network()));
  Network network;
  network.nodes = {{"idle", Activate{}, {0}}};
  const Result<void> written = check_writable({network, NetworkWeights(1)});
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, StartsWith("the model could not be written: "));
}

TEST_F(ModelVersionTest, TheNextIsBehindTheNewest) {
  EXPECT_EQ(next_version(file("none")).value(), 1);
  std::filesystem::create_directories(file("9"));
  std::filesystem::create_directories(file("10"));
  std::filesystem::create_directories(file("backup"));
  std::filesystem::create_directories(file("11.old"));
  EXPECT_EQ(write(), "11");
  EXPECT_EQ(write(), "12");
}

TEST_F(ModelVersionTest, AFileWithoutVersionIsRefused) {
  folder_.write("model.onnx", "");
  EXPECT_EQ(folder_refusal({}), file("model.onnx").string() +
                                    ": would not be served beside another version; move it to " +
                                    file("1/model.onnx").string());
  EXPECT_FALSE(write_model_version(small_network(), folder_.path(), {}));
  EXPECT_FALSE(std::filesystem::exists(file(".new-version")));
}

TEST_F(ModelVersionTest, AFileOfCaffeWithoutVersionIsRefused) {
  folder_.write("model.prototxt", "");
  EXPECT_EQ(folder_refusal({}), file("model.prototxt").string() +
                                    ": would not be served beside another version; move it to " +
                                    file("1/model.prototxt").string());
  EXPECT_FALSE(write_model_version(small_network(), folder_.path(), {}));
}

TEST_F(ModelVersionTest, TheLastNumberIsRefused) {
  std::filesystem::create_directories(file("9223372036854775807"));
  EXPECT_EQ(folder_refusal({}),
            file("9223372036854775807").string() + ": is the last version that there can be; give another --output");
}

TEST_F(ModelVersionTest, VersionsThatAreServedWithoutScaleStaySo) {
  EXPECT_EQ(folder_refusal({0.5F, -1}), "");
  std::filesystem::create_directories(file("1"));
  EXPECT_EQ(folder_refusal({}), "");
  EXPECT_EQ(
      folder_refusal({0.5F, -1}),
      folder_.path().string() +
          ": its versions are served with input_scale 1 and input_offset 0, and the training has 0.5 and -1; give "
          "another --output, or write config.pbtxt there, which holds for all versions");
  EXPECT_FALSE(write_model_version(small_network(), folder_.path(), {0.5F, -1}));
  EXPECT_FALSE(std::filesystem::exists(file("config.pbtxt")));
  folder_.write("config.pbtxt",
                "parameters { key: 'input_scale' value { string_value: '0.5' } }\n"
                "parameters { key: 'input_offset' value { string_value: '-1' } }\n");
  EXPECT_EQ(folder_refusal({0.5F, -1}), "");
}

TEST_F(ModelVersionTest, WhatAKilledRunLeftIsReplaced) {
  folder_.write(".new-version/other", "text");
  EXPECT_EQ(write(), "1");
  EXPECT_FALSE(std::filesystem::exists(file("1/other")));
}

TEST_F(ModelVersionTest, AScaleIsWrittenForTheDaemon) {
  EXPECT_EQ(write({0.03125F, -4.1015625F}), "1");
  const Result<ModelSettings> settings = read_model_config(file("config.pbtxt").string());
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->input_scale, 0.03125F);
  EXPECT_EQ(settings->input_offset, -4.1015625F);
  EXPECT_TRUE(check_model_config(folder_.path(), {0.03125F, -4.1015625F}));
}

TEST_F(ModelVersionTest, AConfigurationOfThatScaleIsKept) {
  const std::string text =
      "parameters { key: 'input_scale' value { string_value: '0.5' } }\n"
      "parameters { key: 'input_offset' value { string_value: '-1' } }\nname: 'mine'";
  EXPECT_EQ(config_refusal(text), "");
  EXPECT_EQ(write({0.5F, -1}), "1");
  EXPECT_EQ(test::read_text(file("config.pbtxt")), text);
}

TEST_F(ModelVersionTest, OtherConfigurationsAreRefused) {
  EXPECT_THAT(config_refusal(""), HasSubstr("input_scale is 1, and the training has 0.5; make both the same"));
  EXPECT_THAT(config_refusal("parameters { key: 'input_scale' value { string_value: '0.5' } }"),
              HasSubstr("input_offset is 0, and the training has -1"));
  EXPECT_THAT(config_refusal("parameters { key: 'input_scale' value { string_value: '0.5' } }"
                             "parameters { key: 'input_offset' value { string_value: '-1' } }"
                             "parameters { key: 'input_zscore' value { string_value: 'patch' } }"),
              HasSubstr("input_zscore is set"));
  EXPECT_THAT(config_refusal("no config"), HasSubstr("line 1"));
}

}  // namespace
}  // namespace znni
