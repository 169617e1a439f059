#include "planner/report/valid_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "planner/network/padding.hpp"

namespace znni {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Of two axes: a convolution that pads, and its sum with the input.
LoadedNetwork padded_block() {
  Network network;
  network.spatial_rank = 2;
  const Vec3 k{1, 3, 3};
  network.nodes = {{"conv", Convolution{1, k, Vec3::cube(1), {}}, {0}}, {"sum", Add{}, {1, 0}}};
  const Border pads{{0, 1, 1}, {0, 1, 1}};
  return without_padding({network, random_weights(network, 1)}, {pads, {}}).value();
}

TEST(PlannerValidText, NodesAreToldOneByOne) {
  const LoadedNetwork padded = padded_block();
  const std::string text =
      valid_text({"net.onnx", "out.onnx", "", Vec3{1, 10, 12}}, padded.network, make_valid(padded).value());
  EXPECT_THAT(text,
              HasSubstr("net.onnx pads; without that\n"
                        "  conv  pads become 0; they were 1x1 at both ends\n"
                        "  sum   input 2 cropped by 1x1 at both ends\n"
                        "voxel 0 of its output is voxel 1x1 of what the padded net gives for the same volume, and "
                        "all of its voxels are equal to that one's\n"
                        "a volume of 10x12: 8x10; with padding: 10x12\n"
                        "the valid net runs here\n"));
  EXPECT_THAT(text, HasSubstr("field of view  3x3\n"));
  EXPECT_THAT(text, HasSubstr("written to out.onnx\n"));
}

TEST(PlannerValidText, JsonHasTheSameFacts) {
  const LoadedNetwork padded = padded_block();
  const Json told = Json::parse(
      valid_json({"net.onnx", "", "node a: no", Vec3{1, 2, 12}}, padded.network, make_valid(padded).value()));
  EXPECT_EQ(told["changes"], Json::parse(R"([
      {"node": "conv", "change": "unpadded", "begin": [1, 1], "end": [1, 1]},
      {"node": "sum", "change": "input_cropped", "begin": [1, 1], "end": [1, 1], "input": 1}])"));
  EXPECT_EQ(told["first_voxel"], Json::parse("[1, 1]"));
  EXPECT_EQ(told["volume"], Json::parse(R"({"input": [2, 12], "output": null, "padded_output": [2, 12]})"));
  EXPECT_TRUE(told["pads"].get<bool>());
  EXPECT_FALSE(told["valid"]["pads"].get<bool>());
  EXPECT_TRUE(told["written"].is_null());
  EXPECT_EQ(told["refusal"], "node a: no");
}

TEST(PlannerValidText, AVolumeThatIsTooSmallIsTold) {
  const LoadedNetwork padded = padded_block();
  const std::string text = valid_text({"net.onnx", "", "", Vec3{1, 2, 12}}, padded.network, make_valid(padded).value());
  EXPECT_THAT(text, HasSubstr("a volume of 2x12: too small, at least 3x3 is right; with padding: 2x12\n"));
}

TEST(PlannerValidText, AValidNetworkIsSaidToBeOne) {
  Network network;
  network.nodes = {{"conv", Convolution{1, Vec3::cube(3), Vec3::cube(1), {}}, {0}}};
  const LoadedNetwork valid{network, random_weights(network, 1)};
  const std::string text = valid_text({"net.onnx", "", "", {}}, network, make_valid(valid).value());
  EXPECT_EQ(text, "net.onnx is valid as it is: nothing in it pads\nnot written: name a file, --make-valid OUT.onnx\n");
}

TEST(PlannerValidText, DenseNetworksAndRefusalsAreTold) {
  const LoadedNetwork padded = padded_block();
  MadeValid made = make_valid(padded).value();
  made.step = {1, 2, 4};
  made.changes = {{"up", ValidChangeKind::output_cropped, {{0, 1, 2}, {0, 3, 4}}},
                  {"slice", ValidChangeKind::output_cropped, {}},
                  {"input", ValidChangeKind::input_cropped, {{0, 1, 1}, {0, 1, 1}}},
                  {"pad", ValidChangeKind::removed, {{0, 1, 1}, {0, 1, 1}}}};
  const std::string text = valid_text({"net.onnx", "", "node a: no", {}}, padded.network, made);
  EXPECT_THAT(text, HasSubstr("up     crops by 1x2 at the begin and 3x4 at the end\n"));
  EXPECT_THAT(text, HasSubstr("slice  removed; what it cropped is not computed\n"));
  EXPECT_THAT(text, HasSubstr("input  cropped by 1x1 at both ends\n"));
  EXPECT_THAT(text, HasSubstr("pad    removed; it padded by 1x1 at both ends\n"));
  EXPECT_THAT(text, HasSubstr("equal to that one at every 2x4th voxel"));
  EXPECT_THAT(text, HasSubstr("cannot be written: node a: no\n"));
  EXPECT_THAT(text, Not(HasSubstr("a volume of")));
}

}  // namespace
}  // namespace znni
