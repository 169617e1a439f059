#include "server/train/step/transposed.hpp"

#include "planner/network/graph_edits.hpp"
#include "primitives/core/index.hpp"

namespace znni {

std::vector<std::int64_t> transposed_phases(const Network& network) {
  std::vector<std::int64_t> phases(network.nodes.size(), 1);
  for (const Node& node : network.nodes) {
    const auto* upsample = std::get_if<Upsample>(&node.operation);
    const int value = node.inputs.front();
    if (upsample == nullptr || upsample->kind != UpsampleKind::shuffle || value == 0) continue;
    const bool is_alone = readers_of(network, value).size() == 1;
    const bool convolves = std::holds_alternative<Convolution>(network.nodes[index(value) - 1].operation);
    if (is_alone && convolves) phases[index(value) - 1] = voxels(upsample->factor);
  }
  return phases;
}

void tie_transposed(std::int64_t phases, const NodeWeights& weights, NodeWeights& gradients) {
  for (std::size_t i = 0; i < weights.kernels.size(); ++i) {
    if (weights.kernels[i] == 0.0F) gradients.kernels[i] = 0.0F;
  }
  const std::size_t images = gradients.bias.size() / static_cast<std::size_t>(phases);
  for (std::size_t j = 0; j < images; ++j) {
    double sum = 0.0;
    for (std::size_t at = j; at < gradients.bias.size(); at += images) sum += static_cast<double>(gradients.bias[at]);
    for (std::size_t at = j; at < gradients.bias.size(); at += images) gradients.bias[at] = static_cast<float>(sum);
  }
}

}  // namespace znni
