#include "planner/report/network_check.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace znni {
namespace {

using Json = nlohmann::json;

// Returns a convolution, a pooling and a convolution: 2 channels in, 3 out.
Network chain_of_rank(int rank) {
  const auto window = [rank](std::int64_t edge) { return Vec3{rank == 3 ? edge : 1, edge, edge}; };
  Network network;
  network.name = "chain";
  network.spatial_rank = rank;
  network.f_in = 2;
  network.nodes = {{"a", Convolution{4, window(3), Vec3::cube(1), {}}, {0}},
                   {"p", Pooling{PoolKind::max, window(2), window(2)}, {1}},
                   {"b", Convolution{3, window(2), Vec3::cube(1), {}}, {2}}};
  return network;
}

// Returns a net that pools by 4 and upsamples back to the input's resolution.
Network strided() {
  Network network;
  network.name = "strided";
  network.nodes = {{"a", Convolution{1, Vec3::cube(3), Vec3::cube(1), {}}, {0}},
                   {"p", Pooling{PoolKind::average, Vec3::cube(4), Vec3::cube(4), true}, {1}},
                   {"u", Upsample{Vec3::cube(4)}, {2}}};
  return network;
}

TEST(PlannerNetworkCheck, FactsOfADenseNetwork) {
  const NetworkFacts facts = facts_of(chain_of_rank(3));
  EXPECT_EQ(facts.f_in, 2);
  EXPECT_EQ(facts.f_out, 3);
  EXPECT_EQ(facts.field_of_view, Vec3::cube(6));
  EXPECT_EQ(facts.lost, Vec3::cube(5));
  EXPECT_EQ(facts.period, Vec3::cube(1));
  EXPECT_EQ(facts.least, Vec3::cube(6));
  EXPECT_EQ(facts.parameters, 2 * 4 * 27 + 4 + 4 * 3 * 8 + 3);
  EXPECT_EQ(facts.layers, (std::vector<std::pair<std::string, std::int64_t>>{{"convolution", 2}, {"max pooling", 1}}));
}

TEST(PlannerNetworkCheck, FactsOfAStridedNetworkAreOfTheVolumeWithoutItsFrame) {
  Network network = strided();
  network.frame = {Vec3::cube(1), Vec3::cube(1)};
  const NetworkFacts facts = facts_of(network);
  EXPECT_EQ(facts.field_of_view, Vec3());
  EXPECT_EQ(facts.lost, Vec3());
  EXPECT_EQ(facts.period, Vec3::cube(4));
  EXPECT_EQ(facts.least, Vec3::cube(4));
}

TEST(PlannerNetworkCheck, APaddedFileIsOfferedItsValidForm) {
  Network network = strided();
  network.frame = {Vec3::cube(1), Vec3::cube(1)};
  NetworkFacts facts = facts_of(network);
  EXPECT_TRUE(facts.pads);
  const std::string offer = "padding        without it: planner check net.onnx --make-valid\n";
  EXPECT_NE(check_text("net.onnx", facts).find(offer), std::string::npos);
  EXPECT_EQ(check_text("net.pbtxt", facts).find("--make-valid"), std::string::npos);
  facts.tile_bound = true;
  EXPECT_EQ(check_text("net.onnx", facts).find("--make-valid"), std::string::npos);
}

TEST(PlannerNetworkCheck, SeveralOutputsAreNamed) {
  Network network = chain_of_rank(3);
  EXPECT_EQ(Json::parse(check_json("net.onnx", facts_of(network)))["outputs"],
            Json::parse(R"([{"name": "output", "channels": 3}])"));
  network.outputs = {{"mask", 1}, {"flow", 2}};
  EXPECT_NE(check_text("net.onnx", facts_of(network)).find("3 channels: mask 1, flow 2, 5x5x5 voxels smaller"),
            std::string::npos);
  EXPECT_EQ(Json::parse(check_json("net.onnx", facts_of(network)))["outputs"][1],
            Json::parse(R"({"name": "flow", "channels": 2})"));
}

TEST(PlannerNetworkCheck, ARepeatedOutputSaysHowOften) {
  Network network = strided();
  network.output_stride = Vec3{2, 4, 4};
  const NetworkFacts facts = facts_of(network);
  EXPECT_EQ(facts.output_stride, (Vec3{2, 4, 4}));
  EXPECT_NE(check_text("net.onnx", facts).find("each voxel of the net's own written as 2x4x4 equal ones\n"),
            std::string::npos);
  EXPECT_EQ(Json::parse(check_json("net.onnx", facts))["output"]["stride"], Json::parse("[2, 4, 4]"));
}

TEST(PlannerNetworkCheck, OutputsOfSeveralStridesSayHowOftenEachIsRepeated) {
  NetworkFacts facts = facts_of(chain_of_rank(2));
  facts.outputs = {{"aux", 2, {1, 2, 4}}, {"mask", 1}};
  EXPECT_NE(check_text("net.onnx", facts)
                .find("aux 2 (each voxel of the net's own written as 2x4 equal ones), mask 1, 5x5 voxels smaller"),
            std::string::npos)
      << check_text("net.onnx", facts);
  EXPECT_EQ(Json::parse(check_json("net.onnx", facts))["outputs"], Json::parse(R"([
              {"name": "aux", "channels": 2, "stride": [2, 4]}, {"name": "mask", "channels": 1, "stride": [1, 1]}])"));
}

TEST(PlannerNetworkCheck, SeveralInputsAreNamed) {
  Network network = chain_of_rank(3);
  EXPECT_EQ(Json::parse(check_json("net.onnx", facts_of(network)))["inputs"],
            Json::parse(R"([{"name": "input", "channels": 2}])"));
  network.inputs = {{"raw", 1}, {"mask", 1}};
  EXPECT_NE(check_text("net.onnx", facts_of(network)).find("2 channels: raw 1, mask 1, [N, C, Z, Y, X]"),
            std::string::npos);
  EXPECT_EQ(Json::parse(check_json("net.onnx", facts_of(network)))["inputs"][1],
            Json::parse(R"({"name": "mask", "channels": 1})"));
}

TEST(PlannerNetworkCheck, LinesForPeople) {
  EXPECT_EQ(check_text("net.onnx", facts_of(chain_of_rank(3))),
            "net.onnx runs here\n"
            "  input          2 channels, [N, C, Z, Y, X]\n"
            "  output         3 channels, 5x5x5 voxels smaller than the input\n"
            "  field of view  6x6x6\n"
            "  volumes        at least 6x6x6\n"
            "  parameters     319 as computed here, batch normalisations folded in\n"
            "  layers         2 convolution, 1 max pooling\n");
  const std::string flat = check_text("net.onnx", facts_of(chain_of_rank(2)));
  EXPECT_NE(flat.find("[N, C, Y, X]\n"), std::string::npos) << flat;
  EXPECT_NE(flat.find("at least 6x6\n"), std::string::npos) << flat;
  Network network = strided();
  network.frame = {Vec3::cube(1), Vec3::cube(1)};
  const std::string up = check_text("net.onnx", facts_of(network));
  EXPECT_NE(up.find("1 channel, as large as the input\n"), std::string::npos) << up;
  EXPECT_NE(up.find("depends on the voxel: the net upsamples\n"), std::string::npos) << up;
  EXPECT_NE(up.find("at least 4x4x4, extents of 0x0x0 mod 4x4x4\n"), std::string::npos) << up;
}

TEST(PlannerNetworkCheck, JsonHasTheSameFacts) {
  const Json json = Json::parse(check_json("net.onnx", facts_of(chain_of_rank(2))));
  EXPECT_EQ(json, Json::parse(R"({"file": "net.onnx", "runs": true, "model": "chain",
      "input": {"channels": 2, "spatial_axes": 2}, "output": {"channels": 3, "voxels_smaller": [5, 5], "stride": [1, 1]},
      "inputs": [{"name": "input", "channels": 2}], "outputs": [{"name": "output", "channels": 3}],
      "field_of_view": [6, 6], "pads": false, "tile_bound": false, "window": null, "windows": null,
      "volume": {"least": [6, 6], "period": [1, 1], "remainder": [0, 0]},
      "parameters": 127, "layers": {"convolution": 2, "max pooling": 1}})"));
  Network network = strided();
  network.frame = {Vec3::cube(1), Vec3::cube(1)};
  EXPECT_TRUE(Json::parse(check_json("net.onnx", facts_of(network))).at("field_of_view").is_null());
}

TEST(PlannerNetworkCheck, ANetworkThatPoolsAllVoxelsHasAWindow) {
  Network network;
  network.nodes = {{"pool", GlobalPool{}, {0}}, {"gate", Multiply{}, {0, 1}}};
  const std::string text = check_text("net.onnx", facts_of(network));
  EXPECT_NE(text.find("  field of view  the whole window: the net pools all voxels\n"), std::string::npos) << text;
  EXPECT_NE(text.find("1 global pooling, 1 multiplication\n"), std::string::npos) << text;
}

// Returns a net that normalises; pads by 1.
Network normalised() {
  Network network;
  network.name = "normalised";
  network.frame = {Vec3::cube(1), Vec3::cube(1)};
  network.nodes = {{"a", Convolution{2, Vec3::cube(3), Vec3::cube(1), {}}, {0}}, {"n", Norm{2, 1e-5F, {}}, {1}}};
  return network;
}

TEST(PlannerNetworkCheck, ANetworkThatNormalisesHasAWindow) {
  Network network = normalised();
  EXPECT_EQ(check_text("net.onnx", facts_of(network)),
            "net.onnx runs here\n"
            "  input          1 channel, [N, C, Z, Y, X]\n"
            "  output         2 channels, as large as the input\n"
            "  field of view  the whole window: the net normalises over all voxels\n"
            "  window         of one extent for each plan: --volume, or the parameter 'window'; at least 1x1x1\n"
            "  volumes        any, by overlapping windows\n"
            "  parameters     60 as computed here, batch normalisations folded in\n"
            "  layers         1 convolution, 1 normalisation\n");
  const Json open = Json::parse(check_json("net.onnx", facts_of(network)));
  EXPECT_TRUE(open.at("tile_bound").get<bool>());
  EXPECT_TRUE(open.at("window").is_null());
  EXPECT_TRUE(open.at("field_of_view").is_null());
  network.window = {8, 16, 32};
  const std::string text = check_text("net.onnx", facts_of(network));
  EXPECT_NE(text.find("  window         8x16x32\n  volumes        any, by overlapping windows\n"), std::string::npos)
      << text;
  const Json declared = Json::parse(check_json("net.onnx", facts_of(network)));
  EXPECT_EQ(declared.at("window"), Json({8, 16, 32}));
  EXPECT_EQ(declared.at("windows").at("least"), Json({1, 1, 1}));
  EXPECT_EQ(declared.at("volume").at("least"), Json({1, 1, 1}));
}

TEST(PlannerNetworkCheck, VolumesAreNoSmallerThanTheWindowWhereVoxelsAreLost) {
  Network network = normalised();
  network.frame = {{0, 1, 0}, {0, 1, 1}};
  network.spatial_rank = 2;
  network.nodes.front().operation = Convolution{2, {1, 3, 3}, Vec3::cube(1), {}};
  const std::string text = check_text("net.onnx", facts_of(network));
  EXPECT_NE(text.find("  volumes        of the window's extent or larger, by overlapping windows\n"), std::string::npos)
      << text;
  EXPECT_EQ(Json::parse(check_json("net.onnx", facts_of(network))).at("volume").at("least"), Json({1, nullptr}));
  network.window = {1, 16, 32};
  EXPECT_EQ(Json::parse(check_json("net.onnx", facts_of(network))).at("volume").at("least"), Json({1, 32}));
}

Blockers two_kinds() {
  return {{{"GroupNorm", "not supported", "train with BatchNorm", "/norm", 12}, {"Max", "not supported", "", "", 1}},
          13,
          0,
          true};
}

TEST(PlannerNetworkCheck, BlockersAreALineEach) {
  EXPECT_EQ(check_text("net.onnx", two_kinds()),
            "net.onnx does not run here: 13 blockers of 2 kinds\n"
            "GroupNorm (12): not supported; train with BatchNorm; first '/norm'\n"
            "Max (1): not supported\n");
  Blockers cut = {{{"Max", "not supported", "", "m", 1}}, 4, 3, false};
  EXPECT_EQ(check_text("net.onnx", cut),
            "net.onnx does not run here: 4 blockers of 1 kind\n"
            "Max (1): not supported; first 'm'\n"
            "3 blockers of further kinds\n"
            "the rest of the file was not looked at\n");
}

TEST(PlannerNetworkCheck, BlockersAsJson) {
  const Json json = Json::parse(check_json("net.onnx", two_kinds()));
  EXPECT_EQ(json, Json::parse(R"({"file": "net.onnx", "runs": false, "blockers": 13, "unlisted": 0, "whole_file": true,
      "kinds": [{"kind": "GroupNorm", "count": 12, "reason": "not supported", "advice": "train with BatchNorm",
                 "first_node": "/norm"},
                {"kind": "Max", "count": 1, "reason": "not supported", "advice": null, "first_node": null}]})"));
}

}  // namespace
}  // namespace znni
