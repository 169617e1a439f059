#include "planner/train/step_graph.hpp"

#include <algorithm>
#include <utility>

#include "planner/network/operation_traits.hpp"
#include "primitives/core/index.hpp"
#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

// Takes the activation and the residual off a layer, and returns the activation.
Activation take_off(LayerProblem& layer) {
  Activation taken;
  if (auto* conv = std::get_if<ConvProblem>(&layer)) {
    std::swap(taken, conv->activation);
    conv->residual = false;
  }
  if (auto* sum = std::get_if<AddProblem>(&layer)) std::swap(taken, sum->activation);
  return taken;
}

// Returns the activation of a problem that can apply one while it writes; nullptr if it can not.
Activation* own_activation(LayerProblem& problem) {
  if (auto* conv = std::get_if<ConvProblem>(&problem)) return &conv->activation;
  auto* sum = std::get_if<AddProblem>(&problem);
  return sum == nullptr ? nullptr : &sum->activation;
}

LayerProblem without_activation(LayerProblem layer) {
  if (Activation* const activation = own_activation(layer)) *activation = {};
  return layer;
}

bool has_kernels(const Node& node) { return std::holds_alternative<Convolution>(node.operation); }

bool is_strided(const Node& node) {
  if (const auto* conv = std::get_if<Convolution>(&node.operation)) return conv->stride != Vec3::cube(1);
  const auto* pool = std::get_if<Pooling>(&node.operation);
  return pool != nullptr && pool->strided;
}

// Returns per value whether it depends on weights.
std::vector<bool> trained_values(const Network& network) {
  std::vector<bool> trained = {false};
  for (const Node& node : network.nodes) {
    trained.push_back(has_kernels(node) || std::any_of(node.inputs.begin(), node.inputs.end(),
                                                       [&](int value) { return trained[index(value)]; }));
  }
  return trained;
}

// Returns whether a node applies the activation of the next one while it writes: problem `next` reads nothing else, and
// its gradient needs nothing of what it reads.
bool takes_in(const LayerProblem& problem, const LayerProblem& next) {
  LayerProblem own = problem;
  const Activation* activation = own_activation(own);
  return activation != nullptr && activation->kind == ActivationKind::none &&
         std::holds_alternative<ActivationProblem>(next) && saved_value({next}) == SavedValue::output;
}

// Returns per node the activation that it applies for its only reader, which then has nothing to do; -1: none.
std::vector<int> activations_taken_in(const Network& network, const Geometry& geometry) {
  std::vector<int> readers(network.nodes.size() + 1, 0);
  for (const Node& node : network.nodes) {
    for (const int value : node.inputs) ++readers[index(value)];
  }
  std::vector<int> taken(network.nodes.size(), -1);
  for (int node = 0; index(node) < network.nodes.size(); ++node) {
    const int value = network.nodes[index(node)].inputs.front();
    if (value == 0 || readers[index(value)] != 1) continue;
    if (takes_in(geometry.problems[index(value) - 1], geometry.problems[index(node)])) taken[index(value) - 1] = node;
  }
  return taken;
}

class Builder {
 public:
  Builder(const Network& network, const Geometry& geometry)
      : network_(network),
        geometry_(geometry),
        trained_(trained_values(network)),
        taken_in_(activations_taken_in(network, geometry)),
        before_(network.nodes.size(), -1),
        gradients_(network.nodes.size() + 1, -1) {}

  StepGraph build() && {
    values_ = {add_tensor(network_.input_name, geometry_.values.front())};
    const int nodes = static_cast<int>(network_.nodes.size());
    for (int node = 0; node < nodes; ++node) run_forward(node);
    add_loss();
    for (int node = nodes - 1; node >= 0; --node) {
      if (gradients_[index(node) + 1] >= 0) run_backward(node);
    }
    return std::move(graph_);
  }

 private:
  int add_tensor(std::string name, const Shape5& shape) {
    graph_.tensors.push_back({std::move(name), shape});
    return static_cast<int>(graph_.tensors.size()) - 1;
  }

  int add_layer(int node, const LayerProblem& problem, std::vector<int> reads, std::string name) {
    const int made = add_tensor(std::move(name), output_shape(problem));
    graph_.works.push_back({node, problem, std::move(reads), made});
    return made;
  }

  [[nodiscard]] const std::string& name_of(int node) const { return network_.nodes[index(node)].name; }

  [[nodiscard]] std::vector<int> tensors_read(int node) const {
    std::vector<int> reads;
    for (const int value : network_.nodes[index(node)].inputs) reads.push_back(values_[index(value)]);
    return reads;
  }

  [[nodiscard]] bool is_taken_in(int node) const {
    const int value = network_.nodes[index(node)].inputs.front();
    return value > 0 && taken_in_[index(value) - 1] == node;
  }

  // An activation whose slope follows from its input is computed by itself, so that its input can be kept. Any other
  // is applied by the node before it, if that can.
  void run_forward(int node) {
    if (is_taken_in(node)) return values_.push_back(values_[index(network_.nodes[index(node)].inputs.front())]);
    LayerProblem problem = geometry_.problems[index(node)];
    const int next = taken_in_[index(node)];
    if (next >= 0) {
      *own_activation(problem) = std::get<ActivationProblem>(geometry_.problems[index(next)]).activation;
      values_.push_back(add_layer(node, problem, tensors_read(node), name_of(next) + "/output"));
      return;
    }
    const std::vector<int> reads = tensors_read(node);
    LayerProblem own = problem;
    const ActivationProblem fused{output_shape(problem), take_off(own)};
    if (saved_value({fused}) == SavedValue::input) {
      before_[index(node)] = add_layer(node, without_activation(problem), reads, name_of(node) + "/sum");
      values_.push_back(add_layer(node, fused, {before_[index(node)]}, name_of(node) + "/output"));
    } else {
      values_.push_back(add_layer(node, problem, reads, name_of(node) + "/output"));
    }
  }

  void add_loss() {
    graph_.output = values_.back();
    const Shape5 output = graph_.tensors[index(graph_.output)].shape;
    const Vec3 dense = output.S == 1 ? output.n : geometry_.patch_output;
    graph_.output_gradient = add_tensor("loss/gradient", output);
    graph_.works.push_back({-1, LossProblem{output, {1, output.f, dense}}, {graph_.output}, graph_.output_gradient});
    gradients_.back() = graph_.output_gradient;
  }

  int add_gradient(int node, const GradientProblem& problem, std::vector<int> reads, const std::string& name) {
    const int made = add_tensor(name_of(node) + "/gradient of " + name, gradient_shape(problem));
    graph_.works.push_back({node, problem, std::move(reads), made});
    return made;
  }

  // Adds a gradient of a value to those made so far. A layer that adds passes the gradient of its output on: no copy.
  void collect(int node, int value, int gradient) {
    int& sum = gradients_[index(value)];
    if (sum < 0) {
      sum = gradient;
      return;
    }
    const AddProblem both{graph_.tensors[index(sum)].shape, 2, {}};
    sum = add_layer(node, both, {sum, gradient}, name_of(node) + "/sum of gradients");
  }

  void run_backward(int node) {
    LayerProblem layer = geometry_.problems[index(node)];
    const ActivationProblem fused{output_shape(layer), take_off(layer)};
    int gradient = gradients_[index(node) + 1];
    if (fused.activation.kind != ActivationKind::none) {
      const int before = before_[index(node)];
      const int saved = before >= 0 ? before : values_[index(node) + 1];
      gradient = add_gradient(node, {fused}, {gradient, saved}, "sum");
    }
    if (has_kernels(network_.nodes[index(node)])) add_weights(node, layer, gradient);
    const bool passes_on = std::holds_alternative<AddProblem>(layer);
    const std::vector<int>& inputs = network_.nodes[index(node)].inputs;
    for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
      const int value = inputs[index(i)];
      if (!trained_[index(value)]) continue;
      const bool is_residual = i == 1 && std::holds_alternative<ConvProblem>(layer);
      collect(node, value,
              passes_on || is_residual ? gradient : add_input(node, {layer, GradientOf::input, i}, gradient));
    }
  }

  void add_weights(int node, const LayerProblem& layer, int gradient) {
    const int saved = values_[index(network_.nodes[index(node)].inputs.front())];
    graph_.works.push_back({node, GradientProblem{layer, GradientOf::weights, 0}, {gradient, saved}, -1});
  }

  int add_input(int node, const GradientProblem& problem, int gradient) {
    std::vector<int> reads = {gradient};
    const SavedValue kept = saved_value(problem);
    if (kept == SavedValue::input) reads.push_back(values_[index(network_.nodes[index(node)].inputs.front())]);
    if (kept == SavedValue::output) reads.push_back(values_[index(node) + 1]);
    return add_gradient(node, problem, std::move(reads), input_name(problem.input));
  }

  const Network& network_;
  const Geometry& geometry_;
  std::vector<bool> trained_;   // per value
  std::vector<int> taken_in_;   // per node: the activation node whose value it writes; -1: it writes its own
  std::vector<int> values_;     // per value: tensor
  std::vector<int> before_;     // per node: tensor that its own activation reads; -1: none is kept
  std::vector<int> gradients_;  // per value: tensor; -1: none yet
  StepGraph graph_;
};

Error untrained(const std::string& what, const std::string& node, const std::string& why) {
  return refused("training does not take " + what + " yet: node '" + node + "' " + why);
}

// Fails if a node reads voxels around the volume.
Result<void> check_padding(const Network& network) {
  for (const Node& node : network.nodes) {
    for (const int value : node.inputs) {
      const Border outside = value == 0 ? network.frame : network.nodes[index(value) - 1].outside;
      if (outside != Border{}) return untrained("padding", node.name, "pads");
    }
  }
  return {};
}

// Fails if no gradient is known of the node, or it has weights that no gradient is known of.
Result<void> check_operation_trained(const Node& node) {
  const bool known = std::visit(
      [](const auto& own) {
        using Own = std::decay_t<decltype(own)>;
        if constexpr (std::is_same_v<Own, AcrossChannels>) {
          return own.kind == AcrossKind::softmax || own.kind == AcrossKind::log_softmax;
        }
        return std::is_same_v<Own, Convolution> || std::is_same_v<Own, Pooling> || std::is_same_v<Own, Activate> ||
               std::is_same_v<Own, Add> || std::is_same_v<Own, Concat> || std::is_same_v<Own, Crop>;
      },
      node.operation);
  if (known) return {};
  const std::string noun(traits_of(node.operation).noun);
  return refused("training does not take every operation yet: node '" + node.name + "' is a " + noun);
}

}  // namespace

Result<void> check_trainable(const Network& network) {
  if (Result<void> sound = check(network); !sound) return sound;
  if (Result<void> valid = check_padding(network); !valid) return valid;
  for (const Node& node : network.nodes) {
    if (Result<void> known = check_operation_trained(node); !known) return known;
    if (is_strided(node)) return untrained("strides", node.name, "has a stride of its own");
  }
  if (std::any_of(network.nodes.begin(), network.nodes.end(), has_kernels)) return {};
  return refused("network " + network.name + " has no convolution: there are no weights to train");
}

StepGraph make_step_graph(const Network& network, const Geometry& geometry) {
  return Builder(network, geometry).build();
}

std::vector<int> tensors_of(const StepWork& work) {
  std::vector<int> tensors;
  const auto add = [&](int tensor) {
    if (tensor >= 0 && std::find(tensors.begin(), tensors.end(), tensor) == tensors.end()) tensors.push_back(tensor);
  };
  for (const int tensor : work.reads) add(tensor);
  add(work.writes);
  return tensors;
}

}  // namespace znni
