#include "server/train/first_weights.hpp"

#include <algorithm>
#include <utility>

#include "planner/network/graph_passes.hpp"
#include "proto/convert/base/read_file.hpp"
#include "proto/convert/onnx/reader/onnx_reader.hpp"
#include "proto/convert/text/network_text.hpp"

namespace znni {
namespace {

NetworkWeights he_weights(const Network& network, std::uint64_t seed) {
  NetworkWeights weights = random_weights(network, seed);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    NodeWeights& node = weights[i];
    const bool is_slope = std::holds_alternative<PRelu>(network.nodes[i].operation);
    std::fill(node.bias.begin(), node.bias.end(), 0.0F);
    std::fill(node.scale.begin(), node.scale.end(), is_slope ? 0.25F : 1.0F);  // PyTorch's slope
    std::fill(node.shift.begin(), node.shift.end(), 0.0F);
  }
  return weights;
}

Result<LoadedNetwork> read_text_network(const std::string& path, std::uint64_t seed, std::int64_t max_weight_bytes) {
  const Result<std::string> text = read_file(path, max_text_bytes);
  if (!text) return text.error();
  Result<Network> network = parse_network(*text);
  if (!network) return network.error().within(path);
  const std::int64_t bytes = weight_bytes(*network);
  if (bytes > max_weight_bytes) {
    return Error{ErrorCode::over_budget, path + ": the weights take " + bytes_text(bytes) + ", more than the " +
                                             bytes_text(max_weight_bytes) + " that --mem leaves them"};
  }
  NetworkWeights weights = he_weights(*network, seed);
  return LoadedNetwork{*std::move(network), std::move(weights)};
}

std::ptrdiff_t count_scales(const Network& network) {
  return std::count_if(network.nodes.begin(), network.nodes.end(),
                       [](const Node& node) { return std::holds_alternative<ScaleShift>(node.operation); });
}

Result<void> check_ends(const Network& network) {
  if (network.inputs.empty() && network.outputs.empty()) return {};
  return Error{ErrorCode::unsupported,
               "the network has " + std::to_string(std::max<std::size_t>(network.inputs.size(), 1)) + " inputs and " +
                   std::to_string(std::max<std::size_t>(network.outputs.size(), 1)) +
                   " outputs; znni-train trains one output of one input: export the network with these alone"};
}

}  // namespace

Result<FirstNetwork> read_first_network(const std::string& path, std::uint64_t seed, std::int64_t max_weight_bytes) {
  const bool is_text = path.ends_with(".pbtxt");
  if (!is_text && !path.ends_with(".onnx")) {
    return Error{ErrorCode::invalid_argument, path + ": .onnx or .pbtxt is right for a network"};
  }
  Result<LoadedNetwork> read = is_text ? read_text_network(path, seed, max_weight_bytes)
                                       : read_onnx_file(path, {.max_weight_bytes = max_weight_bytes, .outputs = {}});
  if (!read) return read.error();
  if (const Result<void> fits = check_ends(read->network); !fits) return fits.error().within(path);
  const std::ptrdiff_t before = count_scales(read->network);
  FirstNetwork first = {fold_scales(*std::move(read)), ""};
  const std::ptrdiff_t folded = before - count_scales(first.loaded.network);
  first.note = is_text ? "weights by He, of seed " + std::to_string(seed) : "weights of " + path;
  if (folded > 0) {
    first.note += "; " + std::to_string(folded) +
                  " batch normalisations are folded into convolutions, and no longer "
                  "normalise";
  }
  return first;
}

}  // namespace znni
