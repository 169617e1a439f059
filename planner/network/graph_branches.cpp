#include "planner/network/graph_branches.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace znni {
namespace {

// The channels of one block: with as many or fewer, products with zeros take no time of their own, measured with 16
// lanes.
constexpr std::int64_t max_channels_of_heads = 16;
// Each pair of branches is looked at, once per pair that is joined.
constexpr std::size_t max_branches = 16;

// Returns the node's convolution if it has no groups; else nullptr.
const Convolution* find_convolution(const Network& network, int node) {
  const auto* conv = std::get_if<Convolution>(&network.nodes[index(node)].operation);
  return conv != nullptr && conv->groups == 1 ? conv : nullptr;
}

Convolution& convolution_at(Network& network, int node) {
  return std::get<Convolution>(network.nodes[index(node)].operation);
}

bool differ_in_channels_alone(const Convolution& a, Convolution b) {
  b.f_out = a.f_out;
  return a == b;
}

// Returns true if one convolution could write the channels of two that stand side by side.
bool are_alike(const Node& a, const Node& b) {
  const auto* first = std::get_if<Convolution>(&a.operation);
  const auto* second = std::get_if<Convolution>(&b.operation);
  const bool convolve = first != nullptr && second != nullptr && first->groups == 1 && a.inputs.size() == 1;
  const bool same_outside = a.outside == b.outside && a.outside_kind == b.outside_kind && a.beyond == b.beyond;
  return convolve && same_outside && a.inputs == b.inputs && differ_in_channels_alone(*first, *second);
}

// Appends the channels of `more` behind those of a convolution of f_out channels.
void append_outputs(NodeWeights& conv, std::int64_t f_out, const NodeWeights& more, std::int64_t f_more) {
  conv.kernels.insert(conv.kernels.end(), more.kernels.begin(), more.kernels.end());
  if (conv.bias.empty() && more.bias.empty()) return;
  conv.bias.resize(static_cast<std::size_t>(f_out), 0.0F);
  conv.bias.insert(conv.bias.end(), more.bias.begin(), more.bias.end());
  conv.bias.resize(static_cast<std::size_t>(f_out + f_more), 0.0F);
}

// Lets the convolution `to` write the channels of `from`, too, behind its own.
void append_channels(LoadedNetwork& loaded, int to, int from) {
  Convolution& conv = convolution_at(loaded.network, to);
  const std::int64_t f_more = convolution_at(loaded.network, from).f_out;
  if (!loaded.weights.empty()) {
    append_outputs(loaded.weights[index(to)], conv.f_out, loaded.weights[index(from)], f_more);
  }
  conv.f_out += f_more;
}

// Lets the convolution also read `before` channels before those it reads now, and `behind` behind them, with kernels of
// zeros.
void read_more_channels(LoadedNetwork& loaded, int node, std::int64_t before, std::int64_t behind) {
  if (loaded.weights.empty()) return;
  const Convolution& conv = convolution_at(loaded.network, node);
  std::vector<float>& kernels = loaded.weights[index(node)].kernels;
  const auto row = static_cast<std::ptrdiff_t>(kernels.size()) / conv.f_out;
  std::vector<float> wider;
  for (auto from = kernels.begin(); from != kernels.end(); from += row) {
    wider.insert(wider.end(), static_cast<std::size_t>(before * voxels(conv.k)), 0.0F);
    wider.insert(wider.end(), from, from + row);
    wider.insert(wider.end(), static_cast<std::size_t>(behind * voxels(conv.k)), 0.0F);
  }
  kernels = std::move(wider);
}

void accumulate(const std::vector<float>& from, std::vector<float>& to) {
  to.resize(std::max(to.size(), from.size()), 0.0F);
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

// Lets the convolution `to` write the sum of its channels and those of `from`.
void add_channels(LoadedNetwork& loaded, int to, int from) {
  if (loaded.weights.empty()) return;
  accumulate(loaded.weights[index(from)].kernels, loaded.weights[index(to)].kernels);
  accumulate(loaded.weights[index(from)].bias, loaded.weights[index(to)].bias);
}

// Nodes, both convolutions.
struct Branch {
  int first = 0;
  int last = 0;
};

std::optional<Branch> branch_of(const Network& network, int value) {
  Branch branch;
  for (int* const node : {&branch.last, &branch.first}) {
    if (value == 0 || !is_read_once(network, value) || find_convolution(network, value - 1) == nullptr) return {};
    const std::vector<int>& inputs = network.nodes[index(value - 1)].inputs;
    if (inputs.size() > 1) return {};
    *node = value - 1;
    value = inputs.front();
  }
  return branch;
}

// Returns true if one convolution of all their channels takes no more memory than the tensor it reads.
bool takes_little_memory(const Network& network, const Branch& a, const Branch& b) {
  const int source = network.nodes[index(a.first)].inputs.front();
  const std::int64_t both = find_convolution(network, a.first)->f_out + find_convolution(network, b.first)->f_out;
  return both <= channels_of(network)[index(source)];
}

bool can_join(const Network& network, int node, const Branch& a, const Branch& b) {
  const Convolution& last = *find_convolution(network, a.last);
  const Convolution& other = *find_convolution(network, b.last);
  const bool alike = are_alike(network.nodes[index(a.first)], network.nodes[index(b.first)]);
  if (!alike || !differ_in_channels_alone(last, other) || !takes_little_memory(network, a, b)) return false;
  if (std::holds_alternative<Add>(network.nodes[index(node)].operation)) {
    return last.activation.kind == ActivationKind::none;
  }
  const bool worth_it = find_convolution(network, a.first)->k != Vec3::cube(1);
  return worth_it && last.k == Vec3::cube(1) && last.f_out + other.f_out <= max_channels_of_heads;
}

// Two branches, and the place of the second among the inputs of the node where they meet.
struct Meeting {
  Branch to;
  Branch from;
  std::size_t input = 0;
};

std::optional<Meeting> find_meeting(const Network& network, int node) {
  const bool added = std::holds_alternative<Add>(network.nodes[index(node)].operation);
  const std::vector<int>& inputs = network.nodes[index(node)].inputs;
  if (inputs.size() > max_branches) return {};
  std::vector<std::optional<Branch>> branches;
  for (const int input : inputs) branches.push_back(branch_of(network, input));
  for (std::size_t a = 0; a < branches.size(); ++a) {
    const std::size_t end = added ? branches.size() : std::min(a + 2, branches.size());
    for (std::size_t b = a + 1; b < end; ++b) {
      if (!branches[a] || !branches[b] || !can_join(network, node, *branches[a], *branches[b])) continue;
      return Meeting{*branches[a], *branches[b], b};
    }
  }
  return {};
}

// Takes away an input of the Concat or Add, and the node where nothing is left to do.
void take_input(LoadedNetwork& loaded, int node, std::size_t input) {
  Node& meeting = loaded.network.nodes[index(node)];
  meeting.inputs.erase(meeting.inputs.begin() + static_cast<std::ptrdiff_t>(input));
  if (meeting.inputs.size() > 1) return;
  if (const auto* add = std::get_if<Add>(&meeting.operation)) {
    meeting.operation = Activate{add->activation};
  } else {
    remove_node(loaded, node);
  }
}

// Returns true if zeros for channels that stand beside those of `value` cost the node no more than reading them.
bool takes_zeros(const Network& network, int node, int value) {
  const Convolution* conv = find_convolution(network, node);
  if (conv == nullptr || conv->k != Vec3::cube(1) || conv->f_out > max_channels_of_heads) return false;
  const std::vector<int>& inputs = network.nodes[index(node)].inputs;
  return inputs.size() == 1 || inputs.back() != value;
}

// Returns how many channels the readers of both would read in vain if the two convolutions were one; nothing if a
// reader cannot.
std::optional<std::int64_t> channels_in_vain(const Network& network, int a, int b) {
  std::int64_t count = 0;
  for (const auto& [own, other] : {std::pair{a, b}, std::pair{b, a}}) {
    const std::vector<int> readers = readers_of(network, own + 1);
    const bool all = std::all_of(readers.begin(), readers.end(),
                                 [&, value = own + 1](int reader) { return takes_zeros(network, reader, value); });
    if (readers.empty() || !all) return {};
    count += static_cast<std::int64_t>(readers.size()) * find_convolution(network, other)->f_out;
  }
  return count;
}

// Returns a later convolution of the tensor that `node` reads, whose channels could be among those of `node`; or -1.
int find_sibling(const Network& network, int node) {
  const Convolution* conv = find_convolution(network, node);
  if (conv == nullptr || conv->k == Vec3::cube(1)) return -1;
  const int source = network.nodes[index(node)].inputs.front();
  // Twice as many, and what is saved is spent: docs/benchmarks/2026-11-22.md.
  const std::int64_t most = channels_of(network)[index(source)];
  const std::vector<int> readers = readers_of(network, source);
  if (readers.size() > max_branches) return -1;
  for (const int other : readers) {
    if (other <= node || !are_alike(network.nodes[index(node)], network.nodes[index(other)])) continue;
    if (conv->f_out + find_convolution(network, other)->f_out > most) continue;  // they are read once at least
    if (channels_in_vain(network, node, other).value_or(most + 1) <= most) return other;
  }
  return -1;
}

}  // namespace

bool join_convolutions(LoadedNetwork& loaded, int node) {
  const Network& network = loaded.network;
  const std::vector<Node>& nodes = network.nodes;
  if (!std::holds_alternative<Concat>(nodes[index(node)].operation)) return false;
  const std::vector<int>& values = nodes[index(node)].inputs;
  const auto next = std::adjacent_find(values.begin(), values.end(), [&](int a, int b) {
    const bool read_once = a > 0 && b > 0 && is_read_once(network, a) && is_read_once(network, b);
    return read_once && are_alike(nodes[index(a - 1)], nodes[index(b - 1)]);
  });
  if (next == values.end()) return false;
  const int from = *(next + 1) - 1;
  append_channels(loaded, *next - 1, from);
  take_input(loaded, node, static_cast<std::size_t>(next + 1 - values.begin()));
  remove_node(loaded, from);
  return true;
}

bool join_branches(LoadedNetwork& loaded, int node) {
  const Operation& meeting = loaded.network.nodes[index(node)].operation;
  const bool added = std::holds_alternative<Add>(meeting);
  if (!added && !std::holds_alternative<Concat>(meeting)) return false;
  const std::optional<Meeting> found = find_meeting(loaded.network, node);
  if (!found) return false;
  const auto& [to, from, input] = *found;
  read_more_channels(loaded, to.last, 0, convolution_at(loaded.network, from.first).f_out);
  read_more_channels(loaded, from.last, convolution_at(loaded.network, to.first).f_out, 0);
  append_channels(loaded, to.first, from.first);
  (added ? add_channels : append_channels)(loaded, to.last, from.last);
  take_input(loaded, node, input);
  remove_node(loaded, from.last);
  remove_node(loaded, from.first);
  return true;
}

bool join_siblings(LoadedNetwork& loaded, int node) {
  const int from = find_sibling(loaded.network, node);
  if (from < 0) return false;
  const std::int64_t own = convolution_at(loaded.network, node).f_out;
  const std::int64_t more = convolution_at(loaded.network, from).f_out;
  for (const int reader : readers_of(loaded.network, node + 1)) read_more_channels(loaded, reader, 0, more);
  for (const int reader : readers_of(loaded.network, from + 1)) {
    read_more_channels(loaded, reader, own, 0);
    loaded.network.nodes[index(reader)].inputs.front() = node + 1;
  }
  append_channels(loaded, node, from);
  remove_node(loaded, from);
  return true;
}

}  // namespace znni
