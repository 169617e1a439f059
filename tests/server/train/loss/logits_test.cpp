#include "server/train/loss/logits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr Activation of_kind(ActivationKind kind) { return {kind, 0}; }

// A convolution "conv" with this activation, and this node behind it if one is given.
LoadedNetwork ending_in(ActivationKind fused, std::optional<Operation> own = {}) {
  Network network;
  Convolution conv;
  conv.f_out = 2;
  conv.activation = of_kind(fused);
  network.nodes.push_back({"conv", conv, {0}});
  if (own) network.nodes.push_back({"last", *own, {1}});
  NetworkWeights weights = random_weights(network, 1);
  return {std::move(network), std::move(weights)};
}

const Operation own_sigmoid = Activate{of_kind(ActivationKind::sigmoid)};
const Operation own_softmax = AcrossChannels{};

void expect_logits(LossKind loss, const LoadedNetwork& loaded, Probability probability, const std::string& note) {
  const Result<TrainedNetwork> trained = network_for(loss, loaded);
  ASSERT_TRUE(trained) << trained.error().message;
  EXPECT_EQ(trained->loaded.network, ending_in(ActivationKind::none).network);
  EXPECT_TRUE(check(trained->loaded.network));
  EXPECT_TRUE(check_weights(trained->loaded.network, trained->loaded.weights));
  EXPECT_EQ(trained->served, loaded.network);
  EXPECT_EQ(trained->probability, probability);
  EXPECT_THAT(trained->note, StartsWith(note));
}

TEST(Logits, TheLastActivationIsTakenOff) {
  const std::string own = "node last: its ";
  expect_logits(LossKind::binary_cross_entropy, ending_in(ActivationKind::none, own_sigmoid), Probability::sigmoid,
                own + "sigmoid is part of the loss");
  expect_logits(LossKind::binary_cross_entropy, ending_in(ActivationKind::sigmoid), Probability::sigmoid,
                "node conv: its sigmoid is part of the loss");
  expect_logits(LossKind::softmax_cross_entropy, ending_in(ActivationKind::none, own_softmax), Probability::softmax,
                own + "softmax is part of the loss");
  expect_logits(LossKind::dice, ending_in(ActivationKind::none, own_softmax), Probability::softmax, own + "softmax");
  expect_logits(LossKind::dice, ending_in(ActivationKind::sigmoid), Probability::sigmoid, "node conv: its sigmoid");
}

TEST(Logits, NetworksWithoutActivationWriteLogitsAlready) {
  const LoadedNetwork bare = ending_in(ActivationKind::none);
  const std::string note = "the network ends in no activation: the loss applies a ";
  expect_logits(LossKind::binary_cross_entropy, bare, Probability::sigmoid, note + "sigmoid");
  expect_logits(LossKind::softmax_cross_entropy, bare, Probability::softmax, note + "softmax");
  expect_logits(LossKind::dice, bare, Probability::sigmoid, note + "sigmoid");
}

TEST(Logits, TheSquareTakesWhatTheNetworkWrites) {
  const LoadedNetwork loaded = ending_in(ActivationKind::sigmoid);
  const Result<TrainedNetwork> trained = network_for(LossKind::square, loaded);
  ASSERT_TRUE(trained);
  EXPECT_EQ(trained->loaded.network, loaded.network);
  EXPECT_EQ(trained->probability, Probability::none);
  EXPECT_EQ(trained->note, "");
}

TEST(Logits, OtherActivationsAreRefused) {
  const auto refused = [](LossKind loss, const LoadedNetwork& loaded) {
    const Result<TrainedNetwork> trained = network_for(loss, loaded);
    return trained ? "" : trained.error().message;
  };
  EXPECT_EQ(
      refused(LossKind::binary_cross_entropy, ending_in(ActivationKind::relu)),
      "node conv: the network ends in relu, and loss binary_cross_entropy needs one that ends in no activation or "
      "sigmoid");
  EXPECT_THAT(refused(LossKind::binary_cross_entropy, ending_in(ActivationKind::none, own_softmax)),
              StartsWith("node last: the network ends in softmax, and loss binary_cross_entropy"));
  EXPECT_THAT(refused(LossKind::softmax_cross_entropy, ending_in(ActivationKind::sigmoid)), HasSubstr("or softmax"));
  EXPECT_THAT(refused(LossKind::dice, ending_in(ActivationKind::tanh)), HasSubstr("or sigmoid or softmax"));
  const Operation log_softmax = AcrossChannels{AcrossKind::log_softmax};
  EXPECT_THAT(refused(LossKind::softmax_cross_entropy, ending_in(ActivationKind::none, log_softmax)),
              HasSubstr("no activation or softmax"));
  Network softmax;
  softmax.nodes.push_back({"last", own_softmax, {0}});
  EXPECT_THAT(refused(LossKind::dice, {softmax, {}}), HasSubstr("softmax alone"));
}

TEST(Logits, TheServedNetworkTakesTheTrainedWeights) {
  const LoadedNetwork loaded = ending_in(ActivationKind::none, own_sigmoid);
  const Result<TrainedNetwork> trained = network_for(LossKind::dice, loaded);
  ASSERT_TRUE(trained);
  const NetworkWeights weights = random_weights(trained->loaded.network, 2);
  const LoadedNetwork served = with_weights(*trained, weights);
  EXPECT_EQ(served.network, loaded.network);
  EXPECT_TRUE(check_weights(served.network, served.weights));
  EXPECT_EQ(served.weights[0].kernels, weights[0].kernels);
  EXPECT_TRUE(served.weights[1].kernels.empty());
}

}  // namespace
}  // namespace znni
