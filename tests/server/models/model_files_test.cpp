#include "server/models/model_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>

#include "proto/convert/text/network_text.hpp"
#include "tests/server/models/onnx_file.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class ModelFilesTest : public testing::Test {
 protected:
  Result<ModelFiles> read() {
    const Result<std::vector<ModelEntry>> entries = scan_repository(directory_.path());
    return read_model_files(entries->at(0), [this](std::string_view level, const std::string& line) {
      log_ += std::string(level) + ": " + line + "\n";
    });
  }
  [[nodiscard]] Result<void> check_files() const {
    const Result<std::vector<ModelEntry>> entries = scan_repository(directory_.path());
    return check_model_files(entries->at(0), {});
  }
  void write_network() { test::write_model(directory_.path(), "net", "1", test::onnx_text(network_, weights_)); }
  void write_config(const std::string& text) { directory_.write("net/config.pbtxt", text); }

  const Network network_ = test::simple_network(1);
  const NetworkWeights weights_ = random_weights(network_, 3);
  const test::TemporaryDirectory directory_;
  std::string log_;
};

std::string parameter(const std::string& key, const std::string& value) {
  return "parameters { key: '" + key + "' value { string_value: '" + value + "' } }\n";
}

TEST_F(ModelFilesTest, ReadsNetworkWeightsAndNormalisation) {
  write_network();
  write_config("name: 'net'\n" + parameter("input_scale", "0.5") + parameter("input_offset", "-1"));
  const Result<ModelFiles> files = read();
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->network.nodes, network_.nodes);
  ASSERT_EQ(files->weights.size(), weights_.size());
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    EXPECT_EQ(files->weights[i].kernels, weights_[i].kernels);
    EXPECT_EQ(files->weights[i].bias, weights_[i].bias);
  }
  EXPECT_EQ(files->input.normalisation, (Normalisation{0.5F, -1.0F}));
  EXPECT_FALSE(files->input.zscore);
  EXPECT_EQ(files->input.normalisation.instead, std::nullopt);
  write_config(parameter("input_nonfinite", "0"));
  EXPECT_EQ(read()->input.normalisation.instead, 0.0F);
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(ModelFilesTest, WithoutAConfigurationNothingIsNormalised) {
  write_network();
  const Result<ModelFiles> files = read();
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->input.normalisation, Normalisation{});
}

TEST_F(ModelFilesTest, AnOutputActivationBecomesPartOfTheNetwork) {
  write_network();
  write_config(parameter("output_activation", "softmax"));
  const Result<ModelFiles> softmax = read();
  ASSERT_TRUE(softmax) << softmax.error().message;
  ASSERT_EQ(softmax->network.nodes.size(), network_.nodes.size() + 1);
  EXPECT_TRUE(std::holds_alternative<AcrossChannels>(softmax->network.nodes.back().operation));
  EXPECT_TRUE(check(softmax->network));
  EXPECT_TRUE(check_weights(softmax->network, softmax->weights));

  write_config(parameter("output_activation", "sigmoid"));
  const Result<ModelFiles> sigmoid = read();
  ASSERT_TRUE(sigmoid) << sigmoid.error().message;
  // The last convolution has a relu already: the sigmoid stays a node of its own.
  EXPECT_EQ(std::get<Activate>(sigmoid->network.nodes.back().operation).activation.kind, ActivationKind::sigmoid);
}

TEST_F(ModelFilesTest, VolumeZscoreIsTakenAndPatchZscoreRefused) {
  write_network();
  write_config(parameter("input_zscore", "volume"));
  const Result<ModelFiles> volume = read();
  ASSERT_TRUE(volume) << volume.error().message;
  EXPECT_TRUE(volume->input.zscore);
  write_config(parameter("input_zscore", "patch"));
  const Result<ModelFiles> patch = read();
  ASSERT_FALSE(patch);
  EXPECT_EQ(patch.error().code, ErrorCode::unsupported);
  EXPECT_THAT(patch.error().message, HasSubstr("config.pbtxt: parameter input_zscore"));
}

TEST_F(ModelFilesTest, RefusesWhatTheConfigurationGetsWrong) {
  write_network();
  write_config("name: 'other'");
  EXPECT_THAT(read().error().message, HasSubstr("config.pbtxt: name is 'other'; the folder says 'net'"));
  write_config(parameter("output_grid", "network"));
  EXPECT_EQ(read().error().code, ErrorCode::unsupported);
  EXPECT_THAT(read().error().message, HasSubstr("expected 'dense', of which every stride-th voxel"));
  write_config(parameter("window", "64"));
  EXPECT_THAT(read().error().message, HasSubstr("config.pbtxt: parameter 'window': the network does not normalise"));
  write_config(parameter("window_overlap", "0.5"));
  EXPECT_THAT(read().error().message, HasSubstr("config.pbtxt: parameter 'window_overlap': the network does not"));
  write_config("name: ");
  EXPECT_THAT(read().error().message, HasSubstr("config.pbtxt"));
}

TEST_F(ModelFilesTest, WindowsOverlapAsTheConfigurationSays) {
  Network network;
  network.nodes = {{"conv", Convolution{2, Vec3::cube(3), Vec3::cube(1), {}}, {0}}, {"norm", Norm{2, 1e-5F, {}}, {1}}};
  test::write_model(directory_.path(), "net", "1", test::onnx_text(network, random_weights(network, 3)));
  write_config(parameter("window", "8"));
  const Result<ModelFiles> files = read();
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->blend, WindowBlend());
  write_config(parameter("window", "8") + parameter("window_overlap", "0.25") + parameter("window_weight", "constant"));
  EXPECT_EQ(read()->blend, (WindowBlend{WindowWeight::constant, 0.25}));
  write_config(parameter("window_weight", "gaussian"));
  EXPECT_EQ(read()->blend, WindowBlend());
  write_config(parameter("window_overlap", "1"));
  EXPECT_THAT(read().error().message, HasSubstr("config.pbtxt: parameter 'window_overlap' is '1'"));
}

TEST_F(ModelFilesTest, MissingTruncatedAndUnknownNetworksNameTheirFile) {
  directory_.write("net/1/other.txt", "");
  const Result<ModelFiles> missing = read();
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr("model.onnx"));

  const std::string whole = test::onnx_text(network_, weights_);
  test::write_model(directory_.path(), "net", "1", whole.substr(0, whole.size() / 2));
  const Result<ModelFiles> half = read();
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().code, ErrorCode::corrupt_file);
  EXPECT_THAT(half.error().message, HasSubstr("model.onnx"));
}

TEST_F(ModelFilesTest, CheckingFindsWhatLoadingWould) {
  write_network();
  EXPECT_TRUE(check_files());
  write_config("parameters { key: ");
  EXPECT_THAT(check_files().error().message, HasSubstr("config.pbtxt"));
  write_config("");
  test::write_model(directory_.path(), "net", "1", "no model");
  EXPECT_EQ(check_files().error().code, ErrorCode::corrupt_file);
  EXPECT_THAT(check_files().error().message, HasSubstr("net/1/model.onnx"));
  directory_.write("net/2/notes.txt", "");
  EXPECT_THAT(check_files().error().message, HasSubstr("net/2/model.onnx"));
  std::filesystem::remove_all(directory_.path() / "net/1");
  std::filesystem::remove_all(directory_.path() / "net/2");
  EXPECT_THAT(check_files().error().message, HasSubstr("no version found"));
}

TEST_F(ModelFilesTest, ANetworkWithoutWeightsIsRefused) {
  directory_.write("net/1/model.pbtxt", network_text(network_));
  const Result<ModelFiles> files = read();
  ASSERT_FALSE(files);
  EXPECT_THAT(files.error().message, HasSubstr("model.pbtxt: a network without weights can be planned, not served"));
}

}  // namespace
}  // namespace znni
