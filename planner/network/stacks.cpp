#include "planner/network/stacks.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "planner/network/reading.hpp"

namespace znni {
namespace {

const Border& beyond_of(const Network& network, int value) {
  return value == 0 ? network.frame : network.nodes[index(value - 1)].beyond;
}

// Returns whether the node copies its input for the sake of the -infinity around it. A crop whose voxels padding takes
// back lies elsewhere in the volume than what it reads.
bool is_lowest_copy(const Network& network, const Node& node) {
  const auto* const crop = std::get_if<Crop>(&node.operation);
  return crop != nullptr && *crop == Crop{} && node.outside_kind == OutsideKind::lowest &&
         node.beyond == beyond_of(network, node.inputs.front());
}

// Returns what a value has beyond the volume that is set to `kind`.
Border set_beyond(const Network& network, int value, OutsideKind kind) {
  if (value == 0) return kind == OutsideKind::zero ? network.frame : Border{};
  const Node& node = network.nodes[index(value - 1)];
  return node.outside_kind == kind ? node.outside : Border{};
}

// Returns whether voxels beyond one end of an axis, if some are read as padding, are set.
bool is_set(std::int64_t padding, std::int64_t beyond, std::int64_t set) { return padding == 0 || beyond <= set; }

// Returns whether all that `value` has beyond the volume, where a reader pads, is set to what the stage pads with.
bool pads_as(const StackStage& stage, const Network& network, int value) {
  const Border& beyond = beyond_of(network, value);
  const OutsideKind kind = stage.kind == PoolKind::max ? OutsideKind::lowest : OutsideKind::zero;
  const Border set = set_beyond(network, value, kind);
  for (int axis = 0; axis < 3; ++axis) {
    if (!is_set(stage.before[axis], beyond.begin[axis], set.begin[axis])) return false;
    if (!is_set(stage.behind[axis], beyond.end[axis], set.end[axis])) return false;
  }
  return true;
}

// Returns the pooling as a stage; nothing if it cannot be one.
std::optional<StackStage> stage_of(const Pooling& pool, const Network& network, const Node& node) {
  const Vec3 ones = Vec3::cube(1);
  if (pool.stride != ones || pool.dilation != ones || pool.kind == PoolKind::average_inside) return std::nullopt;
  const int value = node.inputs.front();
  const Border& read = beyond_of(network, value);
  StackStage stage{StackOperation::pool, pool.kind, pool.window, {}, {}, {}};
  stage.before = read.begin - node.beyond.begin;
  stage.behind = read.end - node.beyond.end;
  const bool is_sound = check(StackProblem{{1, 1, stage.window}, {stage}, {}}).has_value();
  if (!is_sound || !pads_as(stage, network, value)) return std::nullopt;
  return stage;
}

// Returns the node as stages of a stack; none if it cannot be that. Values that leave out voxels of the volume are not
// read by stacks, which would take the first voxel of a closed axis for the first one of the volume.
std::vector<StackStage> stages_of(const Network& network, const Node& node) {
  const int value = node.inputs.front();
  const Border& read = beyond_of(network, value);
  if (node.inputs.size() != 1 || !covers(min(read.begin, read.end), {})) return {};
  if (!covers(min(node.beyond.begin, node.beyond.end), {})) return {};
  if (const auto* const stack = std::get_if<Stack>(&node.operation)) return stack->stages;
  if (const auto* const pool = std::get_if<Pooling>(&node.operation)) {
    const std::optional<StackStage> stage = stage_of(*pool, network, node);
    return stage ? std::vector{*stage} : std::vector<StackStage>();
  }
  StackStage stage;
  const auto* const activate = std::get_if<Activate>(&node.operation);
  if (activate != nullptr) stage.activation = activate->activation;
  stage.operation = activate == nullptr ? StackOperation::scale_shift : StackOperation::activation;
  const bool activates = activate != nullptr && activate->activation.kind != ActivationKind::none;
  const bool joins = activates || std::holds_alternative<ScaleShift>(node.operation);
  return joins && read == node.beyond ? std::vector{stage} : std::vector<StackStage>();
}

void append(const std::vector<float>& from, std::vector<float>& to) { to.insert(to.end(), from.begin(), from.end()); }

// Joins runs, one after the other.
class Stacking {
 public:
  explicit Stacking(LoadedNetwork& loaded) : loaded_(loaded) {}

  void run() {
    int node = 0;
    while (node < static_cast<int>(nodes().size())) {
      const std::vector<int> run = run_from(node);
      const bool joins = run.size() > 1 && pools(run);
      if (joins) join(run);
      if (!joins) ++node;
    }
    leave_copies();
  }

 private:
  [[nodiscard]] std::vector<Node>& nodes() { return loaded_.network.nodes; }
  [[nodiscard]] std::vector<StackStage> stages_at(int node) { return stages_of(loaded_.network, nodes()[index(node)]); }

  // Returns the nodes from `first` on that one stack may have.
  std::vector<int> run_from(int first) {
    std::vector<int> run;
    std::size_t stages = 0;
    for (int node = first; !stages_at(node).empty();) {
      stages += stages_at(node).size();
      if (stages > max_stages) break;
      run.push_back(node);
      const std::vector<int> readers = readers_of(loaded_.network, node + 1);
      if (readers.size() != 1) break;
      node = readers.front();
    }
    return run;
  }

  bool pools(const std::vector<int>& run) {
    return std::any_of(run.begin(), run.end(), [&](int node) {
      const std::vector<StackStage> stages = stages_at(node);
      return stages.front().operation == StackOperation::pool || stages.size() > 1;
    });
  }

  // Makes a run one node, in the place of its last.
  void join(const std::vector<int>& run) {
    Stack stack;
    NodeWeights weights;
    for (const int node : run) {
      const std::vector<StackStage> stages = stages_at(node);
      stack.stages.insert(stack.stages.end(), stages.begin(), stages.end());
      if (loaded_.weights.empty()) continue;
      append(loaded_.weights[index(node)].scale, weights.scale);
      append(loaded_.weights[index(node)].shift, weights.shift);
    }
    const int last = run.back();
    nodes()[index(last)].operation = std::move(stack);
    nodes()[index(last)].inputs = nodes()[index(run.front())].inputs;
    if (!loaded_.weights.empty()) loaded_.weights[index(last)] = std::move(weights);
    for (std::size_t i = run.size() - 1; i-- > 0;) remove_node(loaded_, run[i]);
  }

  // Lets stacks read what was copied for them, and unsets what they alone found set.
  void leave_copies() {
    for (Node& node : nodes()) {
      if (!std::holds_alternative<Stack>(node.operation)) continue;
      int& value = node.inputs.front();
      if (value == 0) continue;
      const Node& read = nodes()[index(value - 1)];
      if (is_lowest_copy(loaded_.network, read)) value = read.inputs.front();
    }
    remove_unread(loaded_);
    for (const Node& node : nodes()) {
      const int value = node.inputs.front();
      if (value == 0 || !std::holds_alternative<Stack>(node.operation)) continue;
      if (!is_read_once(loaded_.network, value)) continue;
      nodes()[index(value - 1)].outside = {};
      nodes()[index(value - 1)].outside_kind = OutsideKind::zero;
    }
  }

  LoadedNetwork& loaded_;
};

// Returns what lies beyond the volume where `padding` is above 0.
Border along_padding(const Border& beyond, const Border& padding) {
  Border along;
  for (int axis = 0; axis < 3; ++axis) {
    if (padding.begin[axis] > 0) along.begin[axis] = std::max<std::int64_t>(beyond.begin[axis], 0);
    if (padding.end[axis] > 0) along.end[axis] = std::max<std::int64_t>(beyond.end[axis], 0);
  }
  return along;
}

std::string_view suffix_of(const StackStage& stage) {
  if (stage.operation == StackOperation::pool) return " pool";
  return stage.operation == StackOperation::scale_shift ? " scale" : " activation";
}

// Builds a network without stacks node by node.
class Unstacking {
 public:
  explicit Unstacking(LoadedNetwork stacked)
      : stacked_(std::move(stacked)), channels_(channels_of(stacked_.network)), strided_(is_strided(stacked_.network)) {
    names_.insert(stacked_.network.input_name);
    for (const Node& node : stacked_.network.nodes) names_.insert(node.name);
    made_.network = stacked_.network;
    made_.network.nodes.clear();
  }

  LoadedNetwork run() {
    for (std::size_t i = 0; i < stacked_.network.nodes.size(); ++i) {
      Node node = stacked_.network.nodes[i];
      for (int& input : node.inputs) input = numbers_[index(input)];
      NodeWeights weights = stacked_.weights.empty() ? NodeWeights{} : stacked_.weights[i];
      if (std::holds_alternative<Stack>(node.operation)) {
        const int read = stacked_.network.nodes[i].inputs.front();
        add_stages(node, is_read_once(stacked_.network, read), channels_[index(read)], weights);
      } else {
        append(std::move(node), std::move(weights));
      }
      numbers_.push_back(last());
    }
    return std::move(made_);
  }

 private:
  // Appends a node for every stage. `alone`: no other node reads what the stack does.
  void add_stages(const Node& whole, bool alone, std::int64_t f, const NodeWeights& weights) {
    const std::vector<StackStage>& stages = std::get<Stack>(whole.operation).stages;
    std::int64_t scales = 0;
    int value = whole.inputs.front();
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const bool ends = i + 1 == stages.size();
      Node node{ends ? whole.name : free_name(whole.name + std::string(suffix_of(stages[i]))), {}, {value}};
      NodeWeights own;
      if (stages[i].operation == StackOperation::pool) {
        add_pool(stages[i], value != 0 && (alone || i > 0), node);
      } else if (stages[i].operation == StackOperation::activation) {
        node.operation = Activate{stages[i].activation};
      } else {
        node.operation = ScaleShift{};
        own = weights.scale.empty() ? own : scales_of(weights, f * scales++, f);
      }
      node.beyond = beyond_behind(stages[i], node.inputs.front());
      if (ends) node.outside = whole.outside;
      if (ends) node.outside_kind = whole.outside_kind;
      append(std::move(node), std::move(own));
      value = last();
    }
  }

  // Makes `node` the pooling, and sets what it pads with in what it reads, or in a copy of that.
  void add_pool(const StackStage& stage, bool alone, Node& node) {
    node.operation = Pooling{stage.kind, stage.window, Vec3::cube(1), strided_};
    int& value = node.inputs.front();
    const Border set = along_padding(beyond_of(made_.network, value), {stage.before, stage.behind});
    if (set == Border{}) return;
    const OutsideKind kind = stage.kind == PoolKind::max ? OutsideKind::lowest : OutsideKind::zero;
    if (kind == OutsideKind::lowest) {
      if (!alone) value = lowest_copy(value, set, node.name);
      node.outside = along_padding(beyond_behind(stage, value), {Vec3::cube(1), Vec3::cube(1)});
    }
    if (value == 0) return;
    Node& read = made_.network.nodes[index(value - 1)];
    read.outside = {max(read.outside.begin, set.begin), max(read.outside.end, set.end)};
    read.outside_kind = kind;
  }

  // Returns a copy of `value` for -infinity around it: one that others read, too, if there is one.
  int lowest_copy(int value, const Border& set, const std::string& reader) {
    const std::vector<Node>& nodes = made_.network.nodes;
    const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) {
      return is_lowest_copy(made_.network, node) && node.inputs.front() == value;
    });
    if (found != nodes.end()) return static_cast<int>(found - nodes.begin()) + 1;
    append({free_name(reader + " crop"), Crop{}, {value}, set, OutsideKind::lowest, beyond_of(made_.network, value)},
           {});
    return last();
  }

  [[nodiscard]] Border beyond_behind(const StackStage& stage, int value) const {
    const Border& read = beyond_of(made_.network, value);
    return {read.begin - stage.before, read.end - stage.behind};
  }

  static NodeWeights scales_of(const NodeWeights& weights, std::int64_t first, std::int64_t f) {
    const auto part = [&](const std::vector<float>& all) {
      return std::vector<float>(all.begin() + first, all.begin() + first + f);
    };
    return {{}, {}, part(weights.scale), part(weights.shift)};
  }

  std::string free_name(const std::string& name) {
    std::string found = name;
    for (int number = 2; !names_.insert(found).second; ++number) found = name + " " + std::to_string(number);
    return found;
  }

  void append(Node node, NodeWeights weights) {
    made_.network.nodes.push_back(std::move(node));
    if (!stacked_.weights.empty()) made_.weights.push_back(std::move(weights));
  }

  [[nodiscard]] int last() const { return static_cast<int>(made_.network.nodes.size()); }

  LoadedNetwork stacked_;
  LoadedNetwork made_;
  std::vector<std::int64_t> channels_;  // per value of the stacked network
  bool strided_;
  std::set<std::string> names_;
  std::vector<int> numbers_ = {0};  // per value of the stacked network, its new number
};

}  // namespace

void stack_poolings(LoadedNetwork& loaded) { Stacking(loaded).run(); }

Result<void> check_stacks(const Network& network) {
  for (const Node& node : network.nodes) {
    const auto* const stack = std::get_if<Stack>(&node.operation);
    if (stack == nullptr) continue;
    const Border& read = beyond_of(network, node.inputs.front());
    const Border pads = reading_of(node.operation).padding;
    const bool sound = read == Border{node.beyond.begin + pads.begin, node.beyond.end + pads.end};
    if (sound && covers(min(node.beyond.begin, node.beyond.end), {})) continue;
    return Error{ErrorCode::invalid_argument, "node " + node.name + " pads by " + to_string(pads.begin) + " and " +
                                                  to_string(pads.end) +
                                                  ", which is not what it reads beyond the volume"};
  }
  return {};
}

LoadedNetwork unstacked(LoadedNetwork loaded) { return Unstacking(std::move(loaded)).run(); }

}  // namespace znni
