#include "planner/layers/node_choice.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "planner/layers/label_fronts.hpp"

namespace znni {
namespace {

constexpr Format planar = {};
// Labels up to which all of them are kept. The nets of planner/networks have 4,000 at most; those with many branches
// would have millions.
constexpr std::size_t max_labels = 12'000;

class Combiner {
 public:
  // Combines options of nodes. `all`: keeps every label, until there are too many.
  Combiner(const NetworkUse& use, const Geometry& geometry, const GeometryOptions& options, OptionTable& table,
           const ChoiceLimits& limits, const StopQuestion& stop, bool all)
      : use_(use), geometry_(geometry), options_(options), table_(table), limits_(limits), stop_(stop), all_(all) {
    find_readable();
    find_remaining();
  }

  std::vector<Assignment> run() {
    std::map<State, Front> states = start();
    for (std::size_t node = 0; node < options_.nodes.size() && !stop_(); ++node) {
      std::map<State, std::vector<int>> settled = settle(states);
      states.clear();
      for (const auto& [state, labels] : settled) {
        for (const int label : labels) {
          if (stop_() || has_too_many()) return {};
          extend(node, state, label, states);
        }
      }
    }
    if (stop_()) return {};
    return finish(states);
  }

  [[nodiscard]] bool has_too_many() const { return all_ && pool_.size() > max_labels; }

 private:
  // Formats that every reader of a value can read; planar for the network's output.
  void find_readable() {
    readable_.resize(use_.readers.size());
    for (std::size_t value = 0; value < readable_.size(); ++value) {
      if (use_.readers[value].empty()) readable_[value] = {planar};
      for (std::size_t i = 0; i < use_.readers[value].size(); ++i) {
        std::set<Format> formats;
        const auto reader = static_cast<std::size_t>(use_.readers[value][i]);
        for (const LayerOption& option : *options_.nodes[reader]) {
          const Format read = format_read(reader, static_cast<int>(value), option);
          if (i == 0 || readable_[value].contains(read)) formats.insert(read);
        }
        readable_[value] = std::move(formats);
      }
    }
  }

  // Returns the format in which `option` reads a value. It may stand twice among the inputs: extend() then looks at
  // both.
  Format format_read(std::size_t node, int value, const LayerOption& option) const {
    const std::vector<int>& inputs = inputs_of(node);
    const auto index = static_cast<int>(std::find(inputs.begin(), inputs.end(), value) - inputs.begin());
    return input_format(geometry_.problems[node], index, option.in, option.out);
  }

  void find_remaining() {
    remaining_.assign(options_.nodes.size() + 1, 0.0);
    for (std::size_t node = options_.nodes.size(); node-- > 0;) {
      Seconds least = std::numeric_limits<double>::infinity();
      for (const LayerOption& option : *options_.nodes[node]) least = std::min(least, option.cost.seconds);
      remaining_[node] = remaining_[node + 1] + runs(static_cast<int>(node)) * least;
    }
  }

  std::map<State, Front> start() {
    std::map<State, Front> states;
    Label begin;
    begin.peak = options_.min_transient;
    begin.persistent = options_.kernels;
    Label as_it_arrives = begin;
    add_history(as_it_arrives, 0, planar);
    keep(as_it_arrives, {planar}, 0, states);
    for (const Format format : readable_[0]) {
      if (format == planar || geometry_.stem.last >= 0) continue;
      for (const LayerOption& reorder : reorders(0, planar, format)) {
        Label label = begin;
        label.pick.reorder = &reorder;
        grow(label, reorder, reorder.peak, -1, 0);
        add_history(label, 0, format);
        keep(label, {format}, 0, states);
      }
    }
    return states;
  }

  // Moves fronts into the pool, so that later labels can name their parents.
  std::map<State, std::vector<int>> settle(std::map<State, Front>& states) {
    std::map<State, std::vector<int>> settled;
    for (auto& [state, front] : states) {
      front = pareto(std::move(front), stop_);
      if (!all_) front = few_of(front);
      if (front.empty()) return settled;  // stopped
    }
    if (!all_) states = few_of(std::move(states));
    for (const auto& [state, front] : states) {
      for (const Label& label : front) {
        settled[state].push_back(static_cast<int>(pool_.size()));
        pool_.push_back(label);
      }
    }
    return settled;
  }

  void extend(std::size_t node, const State& state, int parent, std::map<State, Front>& states) {
    const std::vector<int>& alive = node == 0 ? first_alive_ : use_.live_after[node - 1];
    const auto format_of = [&](int value) {
      return state[static_cast<std::size_t>(std::find(alive.begin(), alive.end(), value) - alive.begin())];
    };
    std::vector<Format> found;
    for (const int value : inputs_of(node)) found.push_back(format_of(value));
    std::int64_t others = 0;
    for (const int value : use_.live_through[node]) others = add(others, bytes(value, format_of(value)));
    std::int64_t read_on = 0;
    for (const int value : use_.read_on[node]) read_on = add(read_on, bytes(value, format_of(value)));

    State after;
    for (const int value : use_.live_after[node]) {
      after.push_back(value == static_cast<int>(node) + 1 ? Format{} : format_of(value));
    }
    for (const LayerOption& option : *options_.nodes[node]) {
      if (!reads(node, option, found)) continue;
      Label label = pool_[static_cast<std::size_t>(parent)];
      label.parent = parent;
      label.pick = {&option, nullptr};
      const ExtraLiveBytes beside{add(others, beside_slab(static_cast<int>(node), option)), add(others, read_on)};
      write(node, label, after, beside, states);
    }
  }

  // Returns whether the option reads the node's inputs in the formats that they are in.
  bool reads(std::size_t node, const LayerOption& option, const std::vector<Format>& found) const {
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Format wanted = input_format(geometry_.problems[node], static_cast<int>(i), option.in, option.out);
      if (found[i] != wanted) return false;
    }
    return true;
  }

  // Bytes alive beside what a call declares: of the node's own call, and of a reorder behind it.
  struct ExtraLiveBytes {
    std::int64_t call = 0;
    std::int64_t reorder = 0;
  };

  // Writes the output as the option does, and reordered into every other format that can be read.
  void write(std::size_t node, const Label& label, State& after, const ExtraLiveBytes& beside,
             std::map<State, Front>& states) {
    const int number = static_cast<int>(node);
    const LayerOption& option = *label.pick.option;
    for (const Format format : readable_[node + 1]) {
      after.back() = format;
      Label written = label;
      const bool as_written = format == option.out;
      grow(written, option, as_written ? option.peak : option.reordered_peak, number, beside.call);
      add_history(written, number + 1, format);
      if (as_written) keep(written, after, node + 1, states);
      if (as_written || number == geometry_.stem.last || !within(written, node + 1)) continue;
      for (const LayerOption& reorder : reorders(number + 1, option.out, format)) {
        Label reordered = written;
        reordered.pick.reorder = &reorder;
        grow(reordered, reorder, reorder.peak, number, beside.reorder);
        keep(reordered, after, node + 1, states);
      }
    }
  }

  void add_history(Label& label, int value, Format format) const {
    const std::int64_t bytes = round_up(history_bytes(geometry_, value, format), buffer_alignment);
    label.histories = add(label.histories, bytes);
  }

  std::vector<Assignment> finish(std::map<State, Front>& states) {
    // States differ in the formats of held values, which no node reads any more.
    Front all;
    for (const auto& [state, front] : states) all.insert(all.end(), front.begin(), front.end());
    for (Label& label : all) label.peak = add(label.peak, std::exchange(label.histories, 0));
    std::vector<Assignment> assignments;
    for (const Label& label : pareto(std::move(all), stop_)) assignments.push_back(trace(label));
    if (stop_()) return {};
    return assignments;
  }

  Assignment trace(const Label& last) const {
    Assignment assignment{last.seconds, last.persistent, last.peak, nullptr, {}};
    const Label* label = &last;
    for (; label->parent >= 0; label = &pool_[static_cast<std::size_t>(label->parent)]) {
      assignment.nodes.push_back(label->pick);
    }
    std::reverse(assignment.nodes.begin(), assignment.nodes.end());
    assignment.input_reorder = label->pick.reorder;
    return assignment;
  }

  // Returns the bytes of the stem's input and output that lie beside the slab a call declares.
  [[nodiscard]] std::int64_t beside_slab(int node, const LayerOption& option) const {
    const int last = geometry_.stem.last;
    const auto slab_bytes = [](const Shape5& shape, Format format) {
      return round_up(tensor_bytes(shape, format), buffer_alignment);
    };
    std::int64_t more = 0;
    if (node == 0 && last >= 0) more += bytes(0, planar) - slab_bytes(geometry_.stem.input, planar);
    if (node != last) return more;
    const Shape5 slab = output_shape(geometry_.problems[static_cast<std::size_t>(node)]);
    return more + bytes(node + 1, option.out) - slab_bytes(slab, option.out);
  }

  [[nodiscard]] double runs(int node) const { return static_cast<double>(runs_of(geometry_, node)); }

  // Adds an option to a label. While the stem runs, its output is there; its size is known when its last node has
  // chosen a format.
  void grow(Label& label, const LayerOption& option, std::int64_t own_peak, int node, std::int64_t others) const {
    label.seconds += runs(node) * option.cost.seconds;
    label.persistent = add(label.persistent, option.persistent);
    std::int64_t& peak = node < geometry_.stem.last ? label.stem_peak : label.peak;
    peak = std::max(peak, add(others, own_peak));
    if (node != geometry_.stem.last || node < 0) return;
    label.peak = std::max(label.peak, add(std::exchange(label.stem_peak, 0), bytes(node + 1, option.out)));
  }

  bool within(const Label& label, std::size_t nodes_done) const {
    const std::int64_t transient = add(label.peak, label.histories);
    return label.persistent <= limits_.persistent && transient <= limits_.transient &&
           add(label.persistent, transient) <= limits_.total &&
           label.seconds + remaining_[nodes_done] < limits_.seconds;
  }

  void keep(const Label& label, const State& state, std::size_t nodes_done, std::map<State, Front>& states) const {
    if (within(label, nodes_done)) states[state].push_back(label);
  }

  const LayerOptions& reorders(int value, Format from, Format to) {
    const auto index = static_cast<std::size_t>(value);
    const Border around = around_written(geometry_, value);
    return table_.get(ReorderProblem{geometry_.values[index], from, to}, {InputUse{}}, nullptr,
                      around.begin + around.end);
  }

  std::int64_t bytes(int value, Format format) const { return value_bytes(geometry_, value, format); }

  const std::vector<int>& inputs_of(std::size_t node) const { return use_.inputs[node]; }

  const NetworkUse& use_;
  const Geometry& geometry_;
  const GeometryOptions& options_;
  OptionTable& table_;
  const ChoiceLimits& limits_;
  const StopQuestion& stop_;
  const bool all_;
  const std::vector<int> first_alive_ = {0};
  std::vector<std::set<Format>> readable_;  // per value
  std::vector<Seconds> remaining_;          // least time of nodes i.. ; one more than nodes
  std::vector<Label> pool_;
};

}  // namespace

NetworkUse network_use(const Network& network, const std::vector<int>& held, int stem_last) {
  std::vector<int> last = last_readers(network);
  const int count = static_cast<int>(network.nodes.size());
  for (const int node : held) {
    last[static_cast<std::size_t>(network.nodes[static_cast<std::size_t>(node)].inputs.front())] = count;
  }
  if (stem_last >= 0) last[0] = stem_last + 1;  // read again for every slab: alive after the last one's calls
  NetworkUse use;
  use.readers.resize(last.size());
  for (int node = 0; node < count; ++node) {
    const std::vector<int>& inputs = network.nodes[static_cast<std::size_t>(node)].inputs;
    std::vector<InputUse> uses;
    std::vector<int> through;
    std::vector<int> read_on;
    std::vector<int> after;
    for (const int value : inputs) {
      const auto first = static_cast<int>(std::find(inputs.begin(), inputs.end(), value) - inputs.begin());
      const bool dies = last[static_cast<std::size_t>(value)] == node;
      if (first == static_cast<int>(uses.size())) {
        use.readers[static_cast<std::size_t>(value)].push_back(node);
        if (!dies) read_on.push_back(value);
      }
      uses.push_back({first, dies});
    }
    for (int value = 0; value <= node; ++value) {
      if (last[static_cast<std::size_t>(value)] <= node) continue;
      after.push_back(value);
      if (std::find(inputs.begin(), inputs.end(), value) == inputs.end()) through.push_back(value);
    }
    after.push_back(node + 1);
    use.inputs.push_back(inputs);
    use.uses.push_back(std::move(uses));
    use.live_through.push_back(std::move(through));
    use.read_on.push_back(std::move(read_on));
    use.live_after.push_back(std::move(after));
  }
  return use;
}

NetworkUse network_use(const Network& network, const Geometry& geometry, const std::vector<bool>& absent) {
  NetworkUse use = network_use(network, geometry.held, geometry.stem.last);
  for (std::size_t node = 0; node < use.uses.size(); ++node) {
    const int reader = static_cast<int>(node) - (!absent.empty() && absent[node] ? 1 : 0);
    for (std::size_t i = 0; i < use.uses[node].size(); ++i) {
      const Border around = around_read(geometry, reader, static_cast<int>(i), use.inputs[node][i]);
      use.uses[node][i].unread = around.begin + around.end;
    }
  }
  return use;
}

Vec3 around_output(const Geometry& geometry, int node) {
  if (node == geometry.stem.last) return {};
  const Border around = around_written(geometry, node + 1);
  return around.begin + around.end;
}

std::int64_t value_bytes(const Geometry& geometry, int value, Format format) {
  return round_up(tensor_bytes(tensor_shape(geometry, value), format), buffer_alignment);
}

std::vector<Assignment> combine(const NetworkUse& use, const Geometry& geometry, const GeometryOptions& options,
                                OptionTable& table, const ChoiceLimits& limits, const StopQuestion& stop, bool* cut) {
  Combiner exact(use, geometry, options, table, limits, stop, true);
  std::vector<Assignment> all = exact.run();
  if (cut != nullptr) *cut = exact.has_too_many();
  if (!exact.has_too_many()) return all;
  return Combiner(use, geometry, options, table, limits, stop, false).run();
}

}  // namespace znni
