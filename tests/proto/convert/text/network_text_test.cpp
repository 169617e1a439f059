#include "proto/convert/text/network_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/onnx_model.hpp"
#include "tests/support/random.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

Network parsed(std::string_view text) {
  Result<Network> network = parse_network(text);
  EXPECT_TRUE(network) << (network ? "" : network.error().message);
  return network ? *std::move(network) : Network{};
}

std::string refusal(std::string_view text) {
  const Result<Network> network = parse_network(text);
  return network ? "" : network.error().message;
}

TEST(NetworkText, AChainNeedsNoNamesAndNoInputs) {
  const Network network = parsed(R"(
    name: "chain"
    node { conv { f_out: 4 k: 3 activation: relu } }
    node { max_pool { window: 2 } }
    node { average_pool { window: [1, 3, 3] stride: 1 } }
    node { conv { f_out: 2 k: [1, 2, 3] dilation: [1, 2, 2] activation: leaky_relu } }
    node { activate { kind: elu alpha: 0.5 } }
    node { scale_shift {} }
    node { softmax {} }
    node { log_softmax {} }
    node { channel_norm { epsilon: 0.5 } }
    node { channel_norm {} }
    node { arg_max { last: true } }
    node { arg_max {} }
    node { unit_length {} })");
  const std::vector<Node> nodes = {
      {"conv1", Convolution{4, Vec3::cube(3), Vec3::cube(1), {ActivationKind::relu}}, {0}},
      {"pool1", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(2)}, {1}},
      {"pool2", Pooling{PoolKind::average, {1, 3, 3}, Vec3::cube(1)}, {2}},
      {"conv2", Convolution{2, {1, 2, 3}, {1, 2, 2}, {ActivationKind::leaky_relu, 0.01F}}, {3}},
      {"activation1", Activate{{ActivationKind::elu, 0.5F}}, {4}},
      {"scale1", ScaleShift{}, {5}},
      {"softmax1", AcrossChannels{}, {6}},
      {"softmax2", AcrossChannels{AcrossKind::log_softmax}, {7}},
      {"norm1", AcrossChannels{AcrossKind::norm, 0.5F}, {8}},
      {"norm2", AcrossChannels{AcrossKind::norm}, {9}},
      {"arg_max1", AcrossChannels{AcrossKind::arg_max_last}, {10}},
      {"arg_max2", AcrossChannels{AcrossKind::arg_max}, {11}},
      {"unit_length1", AcrossChannels{AcrossKind::unit, 1e-12F}, {12}}};
  EXPECT_EQ(network.name, "chain");
  EXPECT_EQ(network.f_in, 1);
  EXPECT_EQ(network.input_name, "input");
  EXPECT_EQ(network.output_name, "output");
  EXPECT_EQ(network.nodes, nodes);
}

TEST(NetworkText, BranchesNameTheirInputs) {
  const Network network = parsed(R"(
    f_in: 2  input_name: "raw"
    node { name: "a" conv { f_out: 2 k: 1 } }
    node { name: "b" inputs: "raw" conv { f_out: 2 k: 1 } }
    node { name: "sum" inputs: ["a", "b"] add { activation: tanh } }
    node { inputs: ["sum", "raw", "a"] concat {} })");
  EXPECT_EQ(network.nodes[1].inputs, std::vector<int>{0});
  EXPECT_EQ(network.nodes[2], (Node{"sum", Add{{ActivationKind::tanh}}, {1, 2}}));
  EXPECT_EQ(network.nodes[3], (Node{"concat1", Concat{}, {3, 0, 1}}));
}

TEST(NetworkText, NormalisationsHaveGroupsAndAnActivation) {
  const Network network = parsed(R"(
    f_in: 4
    node { norm {} }
    node { norm { groups: 4 epsilon: 0.5 activation: leaky_relu } }
    node { norm { response: true } })");
  EXPECT_EQ(network.nodes[0], (Node{"norm1", Norm{}, {0}}));
  EXPECT_EQ(network.nodes[1], (Node{"norm2", Norm{4, 0.5F, {ActivationKind::leaky_relu, 0.01F}}, {1}}));
  EXPECT_EQ(network.nodes[2], (Node{"norm3", Norm{1, 1e-5F, {}, NormKind::response}, {2}}));
  EXPECT_EQ(describe(network)[1], "norm2: norm 4, groups 4, epsilon 0.5, leaky_relu 0.00999999978 <- norm1");
  EXPECT_EQ(parsed(network_text(network)), network);
  EXPECT_THAT(refusal("f_in: 4 node { norm { groups: 3 } }"),
              HasSubstr("4 channels in 3 groups, which does not divide"));
  EXPECT_THAT(refusal("f_in: 4 node { norm { epsilon: 0 } }"), HasSubstr("epsilon is not above 0"));
}

TEST(NetworkText, SeveralOutputs) {
  const Network network =
      parsed("node { conv { f_out: 4 k: 3 } } output { name: \"a\" channels: 3 } output { name: \"b\" channels: 1 }");
  EXPECT_EQ(network.outputs, (std::vector<NamedTensor>{{"a", 3}, {"b", 1}}));
  EXPECT_EQ(parsed(network_text(network)), network);
  EXPECT_THAT(refusal("node { conv { f_out: 4 k: 3 } } output { name: \"a\" channels: 3 }"), HasSubstr("has one"));
}

TEST(NetworkText, AnOutputWithAStrideIsRepeated) {
  const Network network = parsed("spatial_rank: 2 node { conv { f_out: 4 k: 3 stride: 2 } }");
  EXPECT_EQ(network.output_stride, (Vec3{1, 2, 2}));
  EXPECT_EQ(network.nodes.back().operation, Operation(Upsample{Vec3{1, 2, 2}}));
  EXPECT_EQ(parsed(network_text(network)), network);
  EXPECT_THAT(refusal("output_stride: 2 node { conv { f_out: 4 k: 3 } }"), HasSubstr("does not divide the factor"));
}

TEST(NetworkText, OutputsOfSeveralStridesAreRepeated) {
  const std::string nodes =
      "spatial_rank: 2 node { name: \"a\" conv { f_out: 3 k: 3 pad_begin: 1 pad_end: 1 } } "
      "node { name: \"b\" max_pool { window: 2 } } node { concat {} inputs: \"b\" inputs: \"a\" } ";
  const Network network = parsed(nodes + "output { name: \"b\" channels: 3 } output { name: \"a\" channels: 3 }");
  EXPECT_EQ(network.outputs, (std::vector<NamedTensor>{{"b", 3, {1, 2, 2}}, {"a", 3}}));
  EXPECT_EQ(parsed(network_text(network)), network);
  const std::string chain = "node { conv { f_out: 4 k: 3 } } output { name: \"a\" channels: 3 } ";
  EXPECT_THAT(refusal(chain + "output { name: \"b\" channels: 1 stride: 2 }"),
              HasSubstr("output b: a stride of 2x2x2"));
  EXPECT_THAT(refusal(chain + "output { name: \"b\" channels: 1 stride: [1, 2] }"), HasSubstr("output 'b': stride"));
}

TEST(NetworkText, SeveralInputs) {
  const Network network = parsed(
      "f_in: 3 node { conv { f_out: 1 k: 3 } } input { name: \"a\" channels: 2 } input { name: \"b\" channels: 1 }");
  EXPECT_EQ(network.inputs, (std::vector<NamedTensor>{{"a", 2}, {"b", 1}}));
  EXPECT_EQ(parsed(network_text(network)), network);
  EXPECT_THAT(refusal("f_in: 3 node { conv { f_out: 1 k: 3 } } input { name: \"a\" channels: 3 }"),
              HasSubstr("has one"));
}

TEST(NetworkText, ANetworkThatNormalisesMayHaveAWindow) {
  const Network network = parsed("window: [8, 16, 16] node { conv { f_out: 4 k: 3 } } node { norm {} }");
  EXPECT_EQ(network.window, (Vec3{8, 16, 16}));
  EXPECT_EQ(parsed(network_text(network)), network);
  EXPECT_THAT(refusal("window: 8 node { conv { f_out: 4 k: 3 } }"), HasSubstr("has a window, and no node that normal"));
  EXPECT_THAT(refusal("window: 2 node { conv { f_out: 4 k: 3 } } node { norm {} }"), HasSubstr("is smaller than"));
}

TEST(NetworkText, ASecondInputOfAConvolutionIsItsResidual) {
  const Network network = parsed(R"(
    f_in: 2  input_name: "raw"
    node { name: "a" conv { f_out: 2 k: 1 } }
    node { name: "sum" inputs: ["a", "raw"] conv { f_out: 2 k: 1 activation: relu } })");
  EXPECT_EQ(network.nodes[1].inputs, (std::vector<int>{1, 0}));
  EXPECT_EQ(describe(network)[1], "sum: conv 2 -> 2, k 1x1x1, residual, relu <- a, raw");
  EXPECT_EQ(parsed(network_text(network)), network);
  EXPECT_THAT(refusal("f_in: 2 node { inputs: [\"input\", \"input\"] conv { f_out: 2 k: 3 } }"),
              HasSubstr("branches do not meet: its sums have field of view 3x3x3"));
}

TEST(NetworkText, PlanesHaveTwoAxes) {
  const Network network =
      parsed("spatial_rank: 2 node { conv { f_out: 1 k: 3 } } node { max_pool { window: [2, 4] } }");
  EXPECT_EQ(std::get<Convolution>(network.nodes[0].operation).k, (Vec3{1, 3, 3}));
  EXPECT_EQ(std::get<Pooling>(network.nodes[1].operation).stride, (Vec3{1, 2, 4}));
}

TEST(NetworkText, LinesHaveOneAxis) {
  const Network network = parsed("spatial_rank: 1 node { conv { f_out: 1 k: 3 } } node { max_pool { window: 2 } }");
  EXPECT_EQ(std::get<Convolution>(network.nodes[0].operation).k, (Vec3{1, 1, 3}));
  EXPECT_EQ(std::get<Pooling>(network.nodes[1].operation).stride, (Vec3{1, 1, 2}));
}

TEST(NetworkText, ErrorsNameTheLineOrTheNode) {
  EXPECT_THAT(
      refusal("name: \"x\"\nnode { conv { f_out: 1 k: 3 pad: 1 } }"),
      HasSubstr("line 2: znni.text.Convolution has no field 'pad'; it has: f_out, k, dilation, activation, alpha"));
  EXPECT_THAT(refusal("\n\nnode { conv { f_out: \"x\" k: 3 } }"), HasSubstr("line 3: "));
  EXPECT_THAT(refusal("node { conv { f_out: 1 k: 3 activation: celu } }"), HasSubstr("celu"));
  EXPECT_THAT(refusal("node { conv { f_out: 1 } }"), HasSubstr("node 'conv1': conv needs f_out and k"));
  EXPECT_THAT(refusal("node { conv { f_out: 1 k: [1, 2] } }"),
              HasSubstr("node 'conv1': k has 2 values; 1 or 3 are right"));
  EXPECT_THAT(refusal("node { max_pool {} }"), HasSubstr("node 'pool1': a pooling needs window"));
  EXPECT_THAT(refusal("node { max_pool { window: 2 stride: [1, 2] } }"), HasSubstr("stride has 2 values"));
  EXPECT_THAT(refusal("node { name: \"n\" }"), HasSubstr("node 'n': has no operation; conv, max_pool"));
  EXPECT_THAT(refusal("node { name: \"n\" inputs: \"m\" softmax {} }"),
              HasSubstr("node 'n': reads 'm', which is neither an earlier node nor the input"));
  EXPECT_THAT(refusal("node { name: \"n\" softmax {} } node { name: \"n\" softmax {} }"),
              HasSubstr("node 'n': the name is taken"));
  EXPECT_THAT(refusal("node { name: \"input\" softmax {} }"), HasSubstr("the name is taken"));
  EXPECT_THAT(refusal("spatial_rank: 4 node { softmax {} }"), HasSubstr("spatial_rank is 4; 1, 2 or 3 is right"));
  EXPECT_THAT(refusal(""), HasSubstr("no nodes"));
  EXPECT_THAT(refusal("node { conv { f_out: 0 k: 1 } }"), HasSubstr("f_out = 0"));
  EXPECT_THAT(refusal("node { conv { f_out: 1 k: 9223372036854775807 } }"), HasSubstr("k.z"));
  EXPECT_THAT(refusal("node { conv { f_out: 1 k: 3 } softmax {} }"), HasSubstr("line 1"));
}

TEST(NetworkText, CropsHaveOneValueOrOnePerAxis) {
  const Network network = parsed(R"(
    node { crop { begin: 2 end: [0, 1, 2] } }
    node { name: "none" crop {} }
    node { crop { end: 1 } })");
  EXPECT_EQ(network.nodes[0], (Node{"crop1", Crop{{2, 2, 2}, {0, 1, 2}}, {0}}));
  EXPECT_EQ(network.nodes[1], (Node{"none", Crop{}, {1}}));
  EXPECT_EQ(network.nodes[2], (Node{"crop3", Crop{{}, {1, 1, 1}}, {2}}));
  const Network flat = parsed("spatial_rank: 2 node { crop { begin: 2 end: [0, 1] } }");
  EXPECT_EQ(flat.nodes[0].operation, (Operation(Crop{{0, 2, 2}, {0, 0, 1}})));
  EXPECT_THAT(refusal("node { crop { begin: [1, 2] } }"), HasSubstr("begin has 2 values; 1 or 3 are right"));
  EXPECT_THAT(refusal("node { crop { end: -1 } }"), HasSubstr("node crop1: end.z = -1 is not in [0, 1048576]"));
  EXPECT_THAT(refusal("node { crop { end: 9223372036854775807 begin: 9223372036854775807 } }"), HasSubstr("begin.z"));
}

Network random_network(test::Random& random) {
  const auto rank = static_cast<int>(random.integer(1, 3));
  Network network{"random", rank, random.integer(1, 4), "raw", "probability", {}};
  const auto extent = [&](std::int64_t most) {
    Vec3 value = random.vec3(1, most);
    for (int axis = 0; axis < 3 - rank; ++axis) value[axis] = 1;
    return value;
  };
  for (std::int64_t i = random.integer(1, 8); i > 0; --i) {
    const int before = static_cast<int>(network.nodes.size());
    const Operation choices[] = {
        Convolution{random.integer(1, 9), extent(4), extent(2), test::random_activation(random)},
        Pooling{random.chance(0.5) ? PoolKind::max : PoolKind::average, extent(3), extent(2)},
        Activate{{ActivationKind::elu, random.normal()}},
        AcrossChannels{static_cast<AcrossKind>(random.integer(0, 3))},
        AcrossChannels{AcrossKind::norm, random.chance(0.5) ? 1e-5F : 0.25F},
        AcrossChannels{AcrossKind::unit, random.chance(0.5) ? 1e-12F : 0.25F},
        ScaleShift{},
        PRelu{},
        Add{test::random_activation(random)},
        Concat{},
        Crop{extent(4) - extent(1), extent(4) - extent(1)}};
    const Operation& operation = choices[random.integer(0, 9)];
    const bool joins = std::holds_alternative<Add>(operation) || std::holds_alternative<Concat>(operation);
    network.nodes.push_back({"node \"" + std::to_string(before) + "\"", operation,
                             joins ? std::vector<int>{before, before} : std::vector<int>{before}});
  }
  return network;
}

TEST(NetworkText, RoundTrip) {
  for (int i = 0; i < test::case_count(300); ++i) {
    test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const Network network = random_network(random);
    const std::string text = network_text(network);
    const Result<Network> again = parse_network(text);
    ASSERT_TRUE(again) << again.error().message << "\ncase " << i << "\n" << text;
    EXPECT_EQ(*again, network) << "case " << i << "\n" << text;
  }
}

TEST(NetworkText, RoundTripOfBranches) {
  const Network network = test::rich_model().read().network;
  EXPECT_EQ(parsed(network_text(network)), network);
}

TEST(NetworkText, ChangedTextNeverCrashes) {
  const std::string good = network_text(test::rich_model().read().network);
  for (int i = 0; i < 2000; ++i) {
    test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    std::string text = good;
    for (int flips = 0; flips < 3; ++flips) {
      text[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(text.size()) - 1))] =
          static_cast<char>(random.integer(1, 255));
    }
    const Result<Network> network = parse_network(text);
    if (network) {
      EXPECT_TRUE(check(*network)) << "case " << i;
    }
  }
}

TEST(NetworkText, StridesAndUpsamplingsAreReadAndWritten) {
  const Network network = parsed(R"(
    node { conv { f_out: 4 k: 3 pad_begin: 1 pad_end: 1 } }
    node { max_pool { window: 3 stride: 1 pad_begin: 1 pad_end: 1 } }
    node { conv { f_out: 8 k: 2 stride: 2 } }
    node { upsample { factor: 2 kind: shuffle } }
    node { average_pool { window: [1, 2, 2] } }
    node { upsample { factor: [1, 2, 2] } })");
  EXPECT_EQ(period(network), Vec3::cube(2));
  EXPECT_TRUE(std::get<Pooling>(network.nodes[1].operation).strided);
  EXPECT_EQ(network.nodes[0].outside_kind, OutsideKind::lowest);
  EXPECT_EQ(parsed(network_text(network)), network);
  EXPECT_THAT(refusal("node { upsample { } }"), HasSubstr("upsample needs factor"));
}

TEST(NetworkText, GroupsOfConvolutionsAreReadAndWritten) {
  const Network network = parsed("f_in: 4 node { conv { f_out: 8 k: 3 groups: 4 } }");
  EXPECT_EQ(std::get<Convolution>(network.nodes[0].operation).groups, 4);
  EXPECT_EQ(describe(network)[0], "conv1: conv 4 -> 8, k 3x3x3, groups 4 <- input");
  EXPECT_EQ(parsed(network_text(network)), network);
  EXPECT_THAT(refusal("f_in: 4 node { conv { f_out: 8 k: 3 groups: 3 } }"),
              HasSubstr("groups = 3 does not divide the 4 channels of its input and the 8 of its own"));
  EXPECT_THAT(refusal("f_in: 4 node { conv { f_out: 8 k: 3 groups: 0 } }"), HasSubstr("groups = 0 is below 1"));
}

TEST(NetworkText, ProductsAreReadAndWritten) {
  const Network network = parsed(R"(
    f_in: 2
    node { name: "a" conv { f_out: 4 k: 1 } }
    node { name: "gate" conv { f_out: 1 k: 1 } }
    node { inputs: ["a", "gate"] multiply {} })");
  EXPECT_EQ(network.nodes[2], (Node{"multiply1", Multiply{}, {1, 2}}));
  EXPECT_EQ(describe(network)[2], "multiply1: multiply 4 <- a, gate");
  EXPECT_EQ(parsed(network_text(network)), network);
}

TEST(NetworkText, DilationsAndMeansOfWhatIsInsideAreReadAndWritten) {
  const Network network = parsed(R"(
    f_in: 2
    node { max_pool { window: 2 stride: 1 dilation: [1, 2, 3] } }
    node { average_pool { window: 3 stride: 1 pad_begin: 1 pad_end: 1 inside: true } })");
  EXPECT_THAT(describe(network)[0], HasSubstr("max pool 2, window 2x2x2, dilation 1x2x3, stride 1x1x1 <- input"));
  EXPECT_EQ(network.nodes[0].outside_kind, OutsideKind::lowest);
  EXPECT_EQ(std::get<Pooling>(network.nodes[1].operation).kind, PoolKind::average_inside);
  EXPECT_EQ(parsed(network_text(network)), network);
  EXPECT_THAT(refusal("node { max_pool { window: 2 inside: true } }"), HasSubstr("inside is of an average_pool"));
}

TEST(NetworkText, QuotientsAreReadAndWritten) {
  const Network network = parsed(R"(
    f_in: 2
    node { name: "a" conv { f_out: 4 k: 1 } }
    node { name: "by" conv { f_out: 1 k: 1 } }
    node { inputs: ["a", "by"] divide {} })");
  EXPECT_EQ(network.nodes[2], (Node{"divide1", Divide{}, {1, 2}}));
  EXPECT_EQ(describe(network)[2], "divide1: divide 4 <- a, by");
  EXPECT_EQ(parsed(network_text(network)), network);
  EXPECT_THAT(refusal("node { multiply {} }"), HasSubstr("has 1 inputs; it needs 2"));
  EXPECT_THAT(
      refusal(R"(f_in: 2 node { name: "a" conv { f_out: 3 k: 1 } } node { inputs: ["a", "input"] multiply {} })"),
      HasSubstr("multiplies 3 channels of a by 2 of input; as many, or 1, are right"));
}

TEST(NetworkText, PoolingsOfAllVoxelsAreReadAndWritten) {
  const Network network = parsed(R"(
    window: 8
    f_in: 2
    node { global_average_pool {} }
    node { inputs: "input" global_max_pool {} }
    node { inputs: ["global1", "global2"] add {} })");
  EXPECT_EQ(network.nodes[0], (Node{"global1", GlobalPool{PoolKind::average}, {0}}));
  EXPECT_EQ(network.nodes[1], (Node{"global2", GlobalPool{PoolKind::max}, {0}}));
  EXPECT_EQ(describe(network)[0], "global1: global mean 2 <- input");
  EXPECT_EQ(describe(network)[1], "global2: global max 2 <- input");
  EXPECT_EQ(parsed(network_text(network)), network);
  EXPECT_THAT(refusal("node { global_max_pool {} inputs: [\"input\", \"input\"] }"), HasSubstr("it needs 1"));
}

TEST(NetworkText, LinearUpsamplingsAreReadAndWritten) {
  const Network network = parsed(R"(
    node { conv { f_out: 4 k: 2 stride: 2 } }
    node { upsample { factor: 2 kind: linear pad_begin: 1 pad_end: 1 } })");
  EXPECT_EQ(std::get<Upsample>(network.nodes[1].operation).kind, UpsampleKind::linear);
  EXPECT_EQ(network.nodes[0].outside_kind, OutsideKind::edge);
  EXPECT_EQ(parsed(network_text(network)), network);
  const Network valid =
      parsed("node { conv { f_out: 4 k: 2 stride: 2 } } node { upsample { factor: 2 kind: linear } }");
  EXPECT_EQ(valid.frame, Border{});
  EXPECT_EQ(parsed(network_text(valid)), valid);
  EXPECT_THAT(
      refusal("frame { begin: 1 } node { conv { f_out: 1 k: 3 } outside_is_lowest: true outside_is_edge: true }"),
      HasSubstr("has two of outside_is_lowest, outside_is_edge and outside_is_reflected; one is right"));
}

TEST(NetworkText, ReflectionsAreReadAndWritten) {
  const std::string reflecting = R"(
    frame { begin: 2 end: 2 }
    node { conv { f_out: 4 k: 3 } outside { begin: 1 end: 1 } outside_is_reflected: true beyond { begin: 1 end: 1 } }
    node { conv { f_out: 1 k: 3 } })";
  const Network network = parsed("min_volume: [4, 5, 6]" + reflecting);
  EXPECT_EQ(network.nodes[0].outside_kind, OutsideKind::reflect);
  EXPECT_EQ(network.min_volume, (Vec3{4, 5, 6}));
  EXPECT_EQ(parsed(network_text(network)), network);
  EXPECT_THAT(refusal(reflecting), HasSubstr("a min_volume of 2 or more is right"));
  EXPECT_THAT(refusal("min_volume: 2000000" + reflecting),
              HasSubstr("min_volume, 2000000x2000000x2000000, is not within 1 and 2^20"));
}

TEST(NetworkText, PadsBecomeAFrame) {
  const Network network = parsed(R"(
      f_in: 2
      node { name: "a" conv { f_out: 2 k: 3 pad_begin: 1 pad_end: 1 } }
      node { name: "b" conv { f_out: 2 k: [1, 3, 3] pad_begin: [0, 1, 1] pad_end: [0, 1, 1] } }
      node { name: "sum" add {} inputs: ["a", "b"] })");
  EXPECT_EQ(network.frame, (Border{{1, 2, 2}, {1, 2, 2}}));
  EXPECT_EQ(network.nodes[0].outside, (Border{{0, 1, 1}, {0, 1, 1}}));
  ASSERT_EQ(network.nodes.size(), 4U);
  EXPECT_EQ(parsed(network_text(network)), network);
}

TEST(NetworkText, PadsAreBounded) {
  EXPECT_THAT(refusal("node { conv { f_out: 1 k: 3 pad_begin: -1 } }"),
              HasSubstr("node 'conv1': pad_begin is -1x-1x-1; 0 to 2^20 is right"));
  EXPECT_THAT(refusal("node { conv { f_out: 1 k: 3 pad_end: [1, 1, 4294967296] } }"),
              HasSubstr("pad_end is 1x1x4294967296"));
  EXPECT_THAT(refusal("node { conv { f_out: 1 k: 9223372036854775807 pad_end: 1 } }"),
              HasSubstr("is not in [1, 1048576]"));
}

TEST(NetworkText, PadsBesideAFrameAreRefused) {
  const Result<Network> network =
      parse_network("frame { begin: 1 end: 1 } node { conv { f_out: 1 k: 3 pad_begin: 1 pad_end: 1 } }");
  ASSERT_FALSE(network);
  EXPECT_THAT(network.error().message, testing::HasSubstr("has pads and a frame; one of them is right"));
}

}  // namespace
}  // namespace znni
