#include "planner/network/graph_edits.hpp"

namespace znni {

std::vector<int> readers_of(const Network& network, int value) {
  std::vector<int> readers;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    for (const int input : network.nodes[i].inputs) {
      if (input == value) readers.push_back(static_cast<int>(i));
    }
  }
  return readers;
}

bool is_read_once(const Network& network, int value) { return readers_of(network, value).size() == 1; }

void remove_node(LoadedNetwork& loaded, int node) {
  std::vector<Node>& nodes = loaded.network.nodes;
  const int value = node + 1;
  const int replacement = nodes[index(node)].inputs.front();
  const Border outside = nodes[index(node)].outside;
  const OutsideKind kind = nodes[index(node)].outside_kind;
  // The network's input has zeros there.
  const bool is_read = replacement > 0 && !readers_of(loaded.network, value).empty();
  if (is_read) {
    // Either is what is left of the frame, along the axes where a reader pads.
    Border& merged = nodes[index(replacement - 1)].outside;
    merged = {max(merged.begin, outside.begin), max(merged.end, outside.end)};
    if (kind != OutsideKind::zero) nodes[index(replacement - 1)].outside_kind = kind;
  }
  for (Node& other : nodes) {
    for (int& input : other.inputs) {
      if (input == value) input = replacement;
      if (input > value) --input;
    }
  }
  nodes.erase(nodes.begin() + node);
  if (!loaded.weights.empty()) loaded.weights.erase(loaded.weights.begin() + node);
}

void remove_unread(LoadedNetwork& loaded) {
  for (int node = static_cast<int>(loaded.network.nodes.size()) - 2; node >= 0; --node) {
    if (readers_of(loaded.network, node + 1).empty()) remove_node(loaded, node);
  }
}

}  // namespace znni
