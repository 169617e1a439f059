#include "planner/train/step_graph.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "planner/train/trainable.hpp"
#include "primitives/core/index.hpp"

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

// Returns per value whether it depends on weights.
std::vector<bool> trained_values(const Network& network) {
  std::vector<bool> trained = {false};
  for (const Node& node : network.nodes) {
    trained.push_back(has_weights(node) || std::any_of(node.inputs.begin(), node.inputs.end(),
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
    if (read_beyond(geometry.closed, node, 0, value) != Border{}) continue;
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

  [[nodiscard]] const std::vector<int>& inputs_of(int node) const { return network_.nodes[index(node)].inputs; }

  [[nodiscard]] Border read_beyond_of(int node, int input) const {
    return read_beyond(geometry_.closed, node, input, inputs_of(node)[index(input)]);
  }

  // Returns the padding of what a node reads.
  [[nodiscard]] PadProblem pad_of(int node, int input) const {
    const int value = inputs_of(node)[index(input)];
    const Border read = read_beyond_of(node, input);
    const OutsideKind kind = value == 0 ? OutsideKind::zero : network_.nodes[index(value) - 1].outside_kind;
    return {geometry_.values[index(value)], {max(read.begin, {}), max(read.end, {})}, kind};
  }

  // Returns what is cropped of the padded value before a node reads it.
  [[nodiscard]] CropProblem crop_of(int node, int input) const {
    const Border read = read_beyond_of(node, input);
    return {padded_shape(pad_of(node, input)), max(Vec3{} - read.begin, {}), max(Vec3{} - read.end, {})};
  }

  // Returns the tensor that a node reads: the value itself, or a copy with padding around it, which readers share.
  int tensor_read(int node, int input) {
    const int value = inputs_of(node)[index(input)];
    const Border read = read_beyond_of(node, input);
    if (read == Border{}) return values_[index(value)];
    const auto [found, is_new] = reads_.try_emplace(std::tuple(value, read.begin, read.end), values_[index(value)]);
    int& made = found->second;
    if (!is_new) return made;
    const PadProblem pad = pad_of(node, input);
    const CropProblem crop = crop_of(node, input);
    if (pad.around != Border{}) made = add_pad(node, pad, made, "padded");
    if (crop.begin != Vec3{} || crop.end != Vec3{}) made = add_layer(node, crop, {made}, name_of(node) + "/cropped");
    return made;
  }

  int add_pad(int node, const PadProblem& pad, int read, const std::string& name) {
    const int made = add_tensor(name_of(node) + "/" + name, pad.is_gradient ? pad.in : padded_shape(pad));
    graph_.works.push_back({node, pad, {read}, made});
    return made;
  }

  // Returns the gradient of a value, given that of what a node reads of it.
  int gradient_of_read(int node, int input, int gradient) {
    PadProblem pad = pad_of(node, input);
    const CropProblem crop = crop_of(node, input);
    if (crop.begin != Vec3{} || crop.end != Vec3{})
      gradient = add_gradient(node, {crop}, {gradient}, "what is cropped");
    pad.is_gradient = true;
    return pad.around == Border{} ? gradient : add_pad(node, pad, gradient, "gradient of what is padded");
  }

  [[nodiscard]] std::vector<int> tensors_read(int node) {
    std::vector<int> reads;
    for (int i = 0; index(i) < inputs_of(node).size(); ++i) reads.push_back(tensor_read(node, i));
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
    if (has_weights(network_.nodes[index(node)])) add_weights(node, layer, gradient);
    const bool passes_on = std::holds_alternative<AddProblem>(layer);
    for (int i = 0; index(i) < inputs_of(node).size(); ++i) {
      const int value = inputs_of(node)[index(i)];
      if (!trained_[index(value)]) continue;
      const bool is_residual = i == 1 && std::holds_alternative<ConvProblem>(layer);
      const int of_read =
          passes_on || is_residual ? gradient : add_input(node, {layer, GradientOf::input, i}, gradient);
      collect(node, value, gradient_of_read(node, i, of_read));
    }
  }

  void add_weights(int node, const LayerProblem& layer, int gradient) {
    const int saved = tensor_read(node, 0);
    graph_.works.push_back({node, GradientProblem{layer, GradientOf::weights, 0}, {gradient, saved}, -1});
  }

  int add_input(int node, const GradientProblem& problem, int gradient) {
    std::vector<int> reads = {gradient};
    const SavedValue kept = saved_value(problem);
    if (kept == SavedValue::input) reads.push_back(tensor_read(node, saved_input(problem)));
    if (kept == SavedValue::output || reads_result(problem)) reads.push_back(values_[index(node) + 1]);
    return add_gradient(node, problem, std::move(reads), input_name(problem.input));
  }

  const Network& network_;
  const Geometry& geometry_;
  std::vector<bool> trained_;  // per value
  std::vector<int> taken_in_;  // per node: the activation node whose value it writes; -1: it writes its own
  std::vector<int> values_;    // per value: tensor
  std::map<std::tuple<int, Vec3, Vec3>, int> reads_;  // tensor with padding, by value and what is read beyond it
  std::vector<int> before_;     // per node: tensor that its own activation reads; -1: none is kept
  std::vector<int> gradients_;  // per value: tensor; -1: none yet
  StepGraph graph_;
};

}  // namespace

Shape5 padded_shape(const PadProblem& pad) {
  Shape5 shape = pad.in;
  shape.n = shape.n + pad.around.begin + pad.around.end;
  return shape;
}

StepGraph make_step_graph(const Network& network, const Geometry& geometry) {
  return Builder(network, geometry).build();
}

std::optional<StepWork> both_gradients(const StepWork& first, const StepWork& second) {
  const auto* weights = std::get_if<GradientProblem>(&first.problem);
  const auto* input = std::get_if<GradientProblem>(&second.problem);
  if (weights == nullptr || input == nullptr || first.node != second.node) return std::nullopt;
  if (*weights != GradientProblem{weights->layer, GradientOf::weights, 0}) return std::nullopt;
  if (*input != GradientProblem{weights->layer, GradientOf::input, 0}) return std::nullopt;
  const GradientProblem both{weights->layer, GradientOf::both, 0};
  if (!check(both) || first.reads.front() != second.reads.front()) return std::nullopt;
  return StepWork{first.node, both, first.reads, second.writes};
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
