#include "proto/convert/configured_network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "planner/network/padding.hpp"

namespace znni {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Returns a convolution of 3 and a normalisation; field of view 3.
Network normalised(int rank = 3) {
  Network network;
  network.spatial_rank = rank;
  network.nodes = {{"conv", Convolution{2, Vec3{rank == 3 ? 3 : 1, 3, 3}, Vec3::cube(1), {}}, {0}},
                   {"norm", Norm{2, 1e-5F, {}}, {1}}};
  return network;
}

std::string refusal(Network network, const std::vector<std::int64_t>& window) {
  const Result<void> set = set_window(network, window);
  return set ? "" : set.error().message;
}

TEST(ConfiguredNetwork, AWindowHasOneNumberForAllAxesOrOneForEach) {
  Network network = normalised();
  ASSERT_TRUE(set_window(network, {}));
  EXPECT_EQ(network.window, Vec3{});
  ASSERT_TRUE(set_window(network, std::vector<std::int64_t>{8}));
  EXPECT_EQ(network.window, Vec3::cube(8));
  network = normalised();
  ASSERT_TRUE(set_window(network, std::vector<std::int64_t>{4, 5, 6}));
  EXPECT_EQ(network.window, (Vec3{4, 5, 6}));
  ASSERT_TRUE(set_window(network, std::vector<std::int64_t>{4, 5, 6})) << "the file says the same";
  network = normalised(2);
  ASSERT_TRUE(set_window(network, std::vector<std::int64_t>{5, 6}));
  EXPECT_EQ(network.window, (Vec3{1, 5, 6}));
  network = normalised(2);
  ASSERT_TRUE(set_window(network, std::vector<std::int64_t>{7}));
  EXPECT_EQ(network.window, (Vec3{1, 7, 7}));
}

TEST(ConfiguredNetwork, AWrongWindowIsRefused) {
  EXPECT_EQ(refusal(normalised(), {4, 5}), "parameter 'window': it has 2 values; 1 or 3 are right");
  EXPECT_THAT(refusal(normalised(), {4, 5, 2}), StartsWith("parameter 'window': "));
  EXPECT_THAT(refusal(normalised(), {4, 5, 2}), HasSubstr("4x5x2"));
  Network dense = normalised();
  dense.nodes.pop_back();
  EXPECT_THAT(refusal(dense, {8}), StartsWith("parameter 'window': the network does not normalise"));
  EXPECT_THAT(refusal(dense, {8}), HasSubstr("drop it"));
  Network declared = normalised();
  declared.window = Vec3::cube(6);
  EXPECT_THAT(refusal(declared, {8}), StartsWith("parameter 'window': 8x8x8 found, but the network's file declares "
                                                 "6x6x6; drop it"));
}

TEST(ConfiguredNetwork, SettingsGiveWindowAndActivation) {
  const Network network = normalised();
  ModelSettings settings;
  settings.window = {8};
  settings.output_activation = OutputActivation::softmax;
  const Result<LoadedNetwork> found = configured({network, random_weights(network, 1)}, settings);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->network.window, Vec3::cube(8));
  ASSERT_EQ(found->network.nodes.size(), 3U);
  EXPECT_TRUE(std::holds_alternative<AcrossChannels>(found->network.nodes.back().operation));
  EXPECT_TRUE(check(found->network));
  EXPECT_TRUE(check_weights(found->network, found->weights));
  settings.window = {1};
  EXPECT_EQ(configured({network, random_weights(network, 1)}, settings).error().code, ErrorCode::invalid_argument);
}

TEST(ConfiguredNetwork, ActivationsOfACoarseOutputLeaveItsVoxelsEqual) {
  Network network;
  network.nodes = {{"a", Convolution{2, Vec3::cube(3), Vec3::cube(1), {}, Vec3::cube(2)}, {0}}};
  const Border one{Vec3::cube(1), Vec3::cube(1)};
  const LoadedNetwork coarse = without_padding({network, random_weights(network, 1)}, {one}, Vec3::cube(13)).value();
  for (const OutputActivation activation : {OutputActivation::softmax, OutputActivation::sigmoid}) {
    ModelSettings settings;
    settings.output_activation = activation;
    const Result<LoadedNetwork> found = configured(coarse, settings);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_TRUE(check(found->network)) << check(found->network).error().message;
  }
}

TEST(ConfiguredNetwork, OfSeveralOutputsNoSoftmaxIsTaken) {
  Network network = normalised();
  network.nodes.pop_back();
  const std::int64_t f = channels_of(network).back();
  network.outputs = {{"a", 1}, {"b", f - 1}};
  ASSERT_TRUE(check(network)) << check(network).error().message;
  ModelSettings settings;
  settings.output_activation = OutputActivation::softmax;
  EXPECT_THAT(configured({network, random_weights(network, 1)}, settings).error().message,
              StartsWith("parameter 'output_activation': softmax goes over the channels of one output, and the network "
                         "has 2"));
  settings.output_activation = OutputActivation::sigmoid;
  EXPECT_TRUE(configured({network, random_weights(network, 1)}, settings));
}

TEST(ConfiguredNetwork, HowWindowsOverlapIsRefusedWithoutAny) {
  Network dense = normalised();
  dense.nodes.pop_back();
  const auto refused = [](const Network& network, const ModelSettings& settings) {
    const Result<LoadedNetwork> found = configured({network, {}}, settings);
    return found ? "" : found.error().message;
  };
  ModelSettings overlap;
  overlap.window_overlap = 0.5;
  ModelSettings weight;
  weight.window_weight = WindowFalloff::constant;
  EXPECT_THAT(refused(dense, overlap), StartsWith("parameter 'window_overlap': the network does not normalise"));
  EXPECT_THAT(refused(dense, weight), StartsWith("parameter 'window_weight': the network does not normalise"));
  EXPECT_EQ(refused(normalised(), overlap), "");
  EXPECT_EQ(refused(normalised(), weight), "");
}

TEST(ConfiguredNetwork, WithoutSettingsNothingChanges) {
  const Network network = normalised();
  const Result<LoadedNetwork> found = configured({network, {}}, {});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->network, network);
  ModelSettings settings;
  settings.output_activation = OutputActivation::tanh;
  EXPECT_TRUE(configured({network, {}}, settings)->weights.empty()) << "a network without weights keeps none";
}

}  // namespace
}  // namespace znni
