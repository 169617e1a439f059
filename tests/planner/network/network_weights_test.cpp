#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "planner/network/network.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

Network net() {
  Network network;
  network.f_in = 8;
  network.nodes = {{"conv", Convolution{64, Vec3::cube(3), Vec3::cube(1), {}}, {0}},
                   {"scale", ScaleShift{}, {1}},
                   {"pool", Pooling{}, {2}}};
  return network;
}

TEST(PlannerNetworkWeights, SizesFollowFromTheNodes) {
  const NetworkWeights weights = random_weights(net(), 7);
  ASSERT_EQ(weights.size(), 3U);
  EXPECT_EQ(weights[0].kernels.size(), 64U * 8U * 27U);
  EXPECT_EQ(weights[0].bias.size(), 64U);
  EXPECT_EQ(weights[1].scale.size(), 64U);
  EXPECT_EQ(weights[1].shift.size(), 64U);
  EXPECT_TRUE(weights[2].kernels.empty() && weights[2].bias.empty() && weights[2].scale.empty());
  EXPECT_TRUE(check_weights(net(), weights));
}

TEST(PlannerNetworkWeights, ANormalisationHasAScaleAndAShiftPerChannel) {
  Network network = net();
  network.nodes[1].operation = Norm{.groups = 4};
  const NetworkWeights weights = random_weights(network, 7);
  EXPECT_EQ(weights[1].scale.size(), 64U);
  EXPECT_EQ(weights[1].shift.size(), 64U);
  EXPECT_EQ(weight_bytes(network), weight_bytes(net()));
}

TEST(PlannerNetworkWeights, ABiasMayBeMissing) {
  NetworkWeights weights = random_weights(net(), 7);
  weights[0].bias.clear();
  EXPECT_TRUE(check_weights(net(), weights));
}

TEST(PlannerNetworkWeights, ErrorsNameTheNodeAndBothNumbers) {
  const auto failure = [](auto change) {
    NetworkWeights weights = random_weights(net(), 7);
    change(weights);
    const Result<void> checked = check_weights(net(), weights);
    return checked ? "sound" : checked.error().message;
  };
  EXPECT_THAT(failure([](auto& w) { w[0].kernels.pop_back(); }),
              HasSubstr("node conv: kernels has 13823 values; it needs 13824"));
  EXPECT_THAT(failure([](auto& w) { w[0].bias.pop_back(); }), HasSubstr("node conv: bias has 63 values; it needs 64"));
  EXPECT_THAT(failure([](auto& w) { w[1].scale.clear(); }), HasSubstr("node scale: scale has 0 values; it needs 64"));
  EXPECT_THAT(failure([](auto& w) { w[1].shift.push_back(0); }), HasSubstr("node scale: shift has 65"));
  EXPECT_THAT(failure([](auto& w) { w[2].bias.push_back(0); }), HasSubstr("node pool: bias has 1 values; it needs 0"));
  EXPECT_THAT(failure([](auto& w) { w.pop_back(); }), HasSubstr("weights of 2 nodes for 3 nodes"));
}

TEST(PlannerNetworkWeights, SameSeedSameWeights) {
  EXPECT_EQ(random_weights(net(), 7)[0].kernels, random_weights(net(), 7)[0].kernels);
  EXPECT_NE(random_weights(net(), 7)[0].kernels, random_weights(net(), 8)[0].kernels);
}

// Mean 0 and variance 2 / (f k^3), within five standard errors of 13824 draws.
TEST(PlannerNetworkWeights, KernelsAreHeNormal) {
  const std::vector<float> kernels = random_weights(net(), 7)[0].kernels;
  const auto count = static_cast<double>(kernels.size());
  double mean = 0;
  double square = 0;
  for (const float kernel : kernels) {
    mean += static_cast<double>(kernel) / count;
    square += static_cast<double>(kernel) * static_cast<double>(kernel) / count;
  }
  const double variance = 2.0 / (8 * 27);
  EXPECT_NEAR(mean, 0, 5 * std::sqrt(variance / count));
  EXPECT_NEAR(square, variance, 5 * variance * std::sqrt(2 / count));
}

}  // namespace
}  // namespace znni
