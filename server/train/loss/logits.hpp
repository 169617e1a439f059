// Networks without their last activation: a cross-entropy or a Dice loss takes logits, and the served network has the
// probabilities.
#pragma once

#include <string>

#include "planner/network/graph_edits.hpp"
#include "proto/convert/text/train_config.hpp"
#include "server/train/loss/losses.hpp"

namespace znni {

struct TrainedNetwork {
  LoadedNetwork loaded;  // without its last activation, if that was taken off
  Network served;        // the network as it was
  Probability probability = Probability::none;
  std::string note;  // one line that says what was taken off, or that nothing was; "" for the square
};

// Returns the network to train with this loss. A Sigmoid is taken off for a binary cross-entropy or Dice, a Softmax for
// a softmax cross-entropy or Dice. It may be a node of its own or part of the last node. A network that ends in a node
// without activation writes logits already. Fails with invalid_argument if the network ends in another activation, or
// in that of another loss; the error names the node, and what would be right.
[[nodiscard]] Result<TrainedNetwork> network_for(LossKind loss, LoadedNetwork loaded);

// Returns the served network with weights of the trained one.
[[nodiscard]] LoadedNetwork with_weights(const TrainedNetwork& trained, const NetworkWeights& weights);

}  // namespace znni
