#include "server/train/loss/logits.hpp"

#include <optional>
#include <utility>

#include "planner/network/operation_traits.hpp"
#include "primitives/core/activation.hpp"

namespace znni {
namespace {

// What the last node applies to all that the others computed.
struct Ending {
  std::string words = "no activation";
  std::optional<Probability> probability = Probability::none;  // nothing: it makes no probabilities that a loss knows
};

Ending ending_of(Operation operation) {
  if (const auto* across = std::get_if<AcrossChannels>(&operation)) {
    const bool is_softmax = across->kind == AcrossKind::softmax;
    return {std::string(traits_of(operation).noun), is_softmax ? std::optional(Probability::softmax) : std::nullopt};
  }
  const auto* own = std::get_if<Activate>(&operation);
  const Activation* const fused = fused_activation(operation);
  const ActivationKind kind = own != nullptr     ? own->activation.kind
                              : fused != nullptr ? fused->kind
                                                 : ActivationKind::none;
  if (kind == ActivationKind::none) return {};
  const bool is_sigmoid = kind == ActivationKind::sigmoid;
  return {std::string(to_string(kind)), is_sigmoid ? std::optional(Probability::sigmoid) : std::nullopt};
}

Probability wanted_by(LossKind loss, Probability found) {
  if (loss == LossKind::softmax_cross_entropy) return Probability::softmax;
  return found == Probability::none ? Probability::sigmoid : found;
}

std::string_view word_of(Probability probability) {
  return probability == Probability::softmax ? "softmax" : "sigmoid";
}

// Takes off the activation, which the last node is or applies.
void take_off(LoadedNetwork& loaded) {
  Node& last = loaded.network.nodes.back();
  if (Activation* const fused = fused_activation(last.operation)) {
    *fused = {};
  } else {
    remove_node(loaded, static_cast<int>(loaded.network.nodes.size()) - 1);
  }
}

Error wrong_ending(const Node& node, const std::string& found, LossKind loss, std::string_view right) {
  return {ErrorCode::invalid_argument, "node " + node.name + ": the network ends in " + found + ", and loss " +
                                           std::string(to_string(loss)) + " needs one that ends in no activation or " +
                                           std::string(right)};
}

}  // namespace

Result<TrainedNetwork> network_for(LossKind loss, LoadedNetwork loaded) {
  Network served = loaded.network;
  TrainedNetwork trained = {std::move(loaded), std::move(served), Probability::none, ""};
  if (loss == LossKind::square) return trained;
  const Node& last = trained.served.nodes.back();
  const Ending ending = ending_of(last.operation);
  const Probability wanted = wanted_by(loss, ending.probability.value_or(Probability::none));
  const bool is_right = ending.probability == Probability::none || ending.probability == wanted;
  const bool fits_loss = loss != LossKind::binary_cross_entropy || wanted == Probability::sigmoid;
  if (!is_right || !fits_loss) {
    const std::string_view right = loss == LossKind::dice ? "sigmoid or softmax" : word_of(wanted_by(loss, {}));
    return wrong_ending(last, ending.words, loss, right);
  }
  trained.probability = wanted;
  const std::string word(word_of(wanted));
  trained.note = "the network ends in no activation: the loss applies a " + word + ", and the model writes logits";
  if (ending.probability == Probability::none) return trained;
  if (trained.served.nodes.size() == 1 && fused_activation(trained.loaded.network.nodes[0].operation) == nullptr) {
    return wrong_ending(last, ending.words + " alone", loss, word + " behind a convolution");
  }
  take_off(trained.loaded);
  trained.note = "node " + last.name + ": its " + word + " is part of the loss; the model has it";
  return trained;
}

LoadedNetwork with_weights(const TrainedNetwork& trained, const NetworkWeights& weights) {
  LoadedNetwork served = {trained.served, weights};
  served.weights.resize(served.network.nodes.size());  // an activation that was taken off has none
  return served;
}

}  // namespace znni
