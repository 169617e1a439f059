#include "planner/network/unfused.hpp"

#include <set>
#include <string>
#include <utility>

#include "planner/network/operation_traits.hpp"
#include "planner/network/stacks.hpp"

namespace znni {
namespace {

// Builds the network node by node.
class Unfusing {
 public:
  explicit Unfusing(LoadedNetwork fused) : fused_(unstacked(std::move(fused))) {
    names_.insert(fused_.network.input_name);
    for (const Node& node : fused_.network.nodes) names_.insert(node.name);
  }

  LoadedNetwork run() {
    for (std::size_t i = 0; i < fused_.network.nodes.size(); ++i) add_node(i);
    fused_.network.nodes = std::move(nodes_);
    if (!fused_.weights.empty()) fused_.weights = std::move(weights_);
    return std::move(fused_);
  }

 private:
  void add_node(std::size_t number) {
    Node node = std::move(fused_.network.nodes[number]);
    for (int& input : node.inputs) input = numbers_[index(input)];
    const Activation activation = take_activation(node.operation);
    const int residual = take_residual(node);
    const Node named = node;
    append(std::move(node), fused_.weights.empty() ? NodeWeights{} : std::move(fused_.weights[number]));
    if (residual >= 0) append_part(named, " sum", Add{}, {last(), residual});
    if (activation.kind != ActivationKind::none) append_part(named, " activation", Activate{activation}, {last()});
    numbers_.push_back(last());
  }

  // Returns the fused activation, and leaves none.
  static Activation take_activation(Operation& operation) {
    Activation* const fused = fused_activation(operation);
    return fused == nullptr ? Activation{} : std::exchange(*fused, Activation{});
  }

  // Returns the value that a convolution adds, and takes it from its inputs; -1 if it adds none.
  static int take_residual(Node& node) {
    if (!std::holds_alternative<Convolution>(node.operation) || node.inputs.size() < 2) return -1;
    const int residual = node.inputs.back();
    node.inputs.pop_back();
    return residual;
  }

  // Appends a node that is part of `whole`. What `whole` had outside the volume is set in the last part alone.
  void append_part(const Node& whole, const std::string& suffix, const Operation& operation, std::vector<int> inputs) {
    nodes_.back().outside = {};
    nodes_.back().outside_kind = OutsideKind::zero;
    Node part = whole;
    part.name = free_name(whole.name + suffix);
    part.operation = operation;
    part.inputs = std::move(inputs);
    append(std::move(part), {});
  }

  std::string free_name(const std::string& name) {
    std::string found = name;
    for (int number = 2; !names_.insert(found).second; ++number) found = name + " " + std::to_string(number);
    return found;
  }

  void append(Node node, NodeWeights weights) {
    nodes_.push_back(std::move(node));
    weights_.push_back(std::move(weights));
  }

  [[nodiscard]] int last() const { return static_cast<int>(nodes_.size()); }

  LoadedNetwork fused_;
  std::set<std::string> names_;
  std::vector<int> numbers_ = {0};  // per value of the fused network, its new number
  std::vector<Node> nodes_;
  NetworkWeights weights_;
};

}  // namespace

LoadedNetwork unfused(LoadedNetwork loaded) { return Unfusing(std::move(loaded)).run(); }

}  // namespace znni
