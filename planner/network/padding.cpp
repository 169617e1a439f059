#include "planner/network/padding.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "planner/network/operation_traits.hpp"
#include "planner/network/output_stride.hpp"
#include "planner/network/reading.hpp"
#include "planner/network/reflections.hpp"
#include "planner/network/value_windows.hpp"

namespace znni {
namespace {

bool has_pads(const std::vector<Border>& pads) {
  return std::any_of(pads.begin(), pads.end(), [](const Border& border) { return border != Border{}; });
}

// Returns whether a node's stride cannot be that of a dense pooling: the network upsamples, or pads or is bound to its
// window, and pools.
bool has_own_strides(const Network& network, bool padded) {
  const bool bound = is_tile_bound(network);
  return std::any_of(network.nodes.begin(), network.nodes.end(), [&](const Node& node) {
    const Reading reading = reading_of(node.operation);
    if (!std::holds_alternative<Pooling>(node.operation)) return is_resized(reading);
    return (padded || bound) && reading.stride != Vec3::cube(1);
  });
}

// Returns `name`, or with the first number behind it that is free, and takes it.
std::string free_name(std::set<std::string>& taken, const std::string& name) {
  std::string found = name;
  for (int number = 2; !taken.insert(found).second; ++number) found = name + " " + std::to_string(number);
  return found;
}

// Builds the valid network node by node.
class Framing {
 public:
  Framing(LoadedNetwork padded, const std::vector<Border>& pads, const std::vector<OutsideKind>& kinds,
          const ValueWindows& windows)
      : padded_(std::move(padded)), pads_(pads), kinds_(kinds), windows_(windows) {
    for (const Node& node : padded_.network.nodes) names_.insert(node.name);
    names_.insert(padded_.network.input_name);
    windows_of_new_.push_back(windows.values.front());
    extents_of_new_.push_back(windows.extents.front());
  }

  LoadedNetwork run() {
    const int nodes = static_cast<int>(padded_.network.nodes.size());
    for (int number = 0; number < nodes; ++number) add_node(number);
    crop_output();
    padded_.network.frame = windows_.frame();
    padded_.network.nodes = std::move(nodes_);
    if (!padded_.weights.empty()) padded_.weights = std::move(weights_);
    return std::move(padded_);
  }

 private:
  void add_node(int number) {
    Node node = padded_.network.nodes[index(number)];
    const Border& pads = pads_[index(number)];
    const OutsideKind kind = reads_outside(number) ? kinds_[index(number)] : OutsideKind::zero;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const int input = node.inputs[i];
      const ValueWindow wanted = windows_.read_by(padded_.network, pads_, number, static_cast<int>(i));
      if (auto* const crop = std::get_if<Crop>(&node.operation); crop != nullptr && pads == Border{}) {
        node.inputs[i] = numbers_[index(input)];
        *crop = crop_to(wanted, node.inputs[i]);
      } else {
        const bool copies = kind != OutsideKind::zero && needs_copy(input);
        node.inputs[i] = cropped(node.name, input, wanted, copies ? std::optional(kind) : std::nullopt);
      }
    }
    pad_input(node.inputs.front(), pads, kind);
    if (auto* const crop = std::get_if<Crop>(&node.operation)) crop->reflects = false;  // its input says so
    append(std::move(node), windows_.values[index(number) + 1], windows_.extents[index(number) + 1],
           padded_.weights.empty() ? NodeWeights{} : padded_.weights[index(number)]);
    numbers_.push_back(static_cast<int>(nodes_.size()));
    if (kind == OutsideKind::lowest) hide_lowest();
  }

  // Hides -infinity, which a max pooling of nothing else writes, and which must not reach a transform.
  void hide_lowest() {
    const Border everywhere{Vec3::cube(1), Vec3::cube(1)};
    nodes_.back().outside = outside_along(everywhere, static_cast<int>(nodes_.size()));
  }

  // Returns whether the node's windows reach beyond the volume along an axis that it pads.
  [[nodiscard]] bool reads_outside(int number) const {
    const ValueWindow wanted = windows_.read_by(padded_.network, pads_, number, 0);
    const int input = padded_.network.nodes[index(number)].inputs.front();
    return outside_of(pads_[index(number)], wanted, windows_.extents[index(input)]) != Border{};
  }

  // Returns whether padding needs a tensor of its own, because other readers want another kind, or because the value is
  // the network's input, which no node writes.
  [[nodiscard]] bool needs_copy(int input) const { return input == 0 || !is_read_once(padded_.network, input); }

  // Returns what is left of the new value `number` beside the wanted window.
  [[nodiscard]] Crop crop_to(const ValueWindow& wanted, int number) const {
    const ValueWindow& whole = windows_of_new_[index(number)];
    return {wanted.begin - whole.begin, whole.end - wanted.end};
  }

  // Returns the new number of `input`, or of a Crop of it that has the wanted window. `copied`: what the copy has
  // outside; nothing where it may be `input` itself.
  int cropped(const std::string& reader, int input, const ValueWindow& wanted, std::optional<OutsideKind> copied) {
    const int number = numbers_[index(input)];
    const Crop crop = crop_to(wanted, number);
    if (crop == Crop{} && !copied.has_value()) return number;
    const auto [found, is_new] = crops_.try_emplace(std::tuple(number, crop.begin, crop.end, copied), 0);
    if (is_new) {
      const Vec3 extent = extents_of_new_[index(number)];
      append({free_name(names_, reader + " crop"), crop, {number}}, wanted, extent, {});
      found->second = static_cast<int>(nodes_.size());
    }
    return found->second;
  }

  // Sets what `value` has outside the volume, along axes where its reader pads.
  void pad_input(int value, const Border& pads, OutsideKind kind) {
    if (value == 0 || pads == Border{}) return;
    const Border more = outside_along(pads, value);
    Node& node = nodes_[index(value - 1)];
    node.outside = {max(node.outside.begin, more.begin), max(node.outside.end, more.end)};
    node.outside_kind = kind;
  }

  [[nodiscard]] Border outside_along(const Border& pads, int value) const {
    return outside_of(pads, windows_of_new_[index(value)], extents_of_new_[index(value)]);
  }

  // Returns what a window has beyond a value of that extent, along axes that are padded.
  static Border outside_of(const Border& pads, const ValueWindow& window, Vec3 extent) {
    Border outside;
    for (int axis = 0; axis < 3; ++axis) {
      if (pads.begin[axis] > 0) outside.begin[axis] = std::max<std::int64_t>(0, -window.begin[axis]);
      if (pads.end[axis] > 0) outside.end[axis] = std::max<std::int64_t>(0, window.end[axis] - extent[axis]);
    }
    return outside;
  }

  // Crops the output, because a last upsampling may write more than it has.
  void crop_output() {
    const int last = static_cast<int>(padded_.network.nodes.size());
    const ValueWindow wanted{{}, output_extent(windows_.extents[index(last)])};
    static_cast<void>(cropped("output", last, wanted, std::nullopt));
  }

  // Returns the output's extent: where its voxels are repeated, the last one may stand for fewer than the others.
  [[nodiscard]] Vec3 output_extent(Vec3 written) const {
    const Vec3 volume = windows_.extents.front();
    const Vec3 stride = min_output_stride(padded_.network);
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t more = written[axis] - volume[axis];
      if (more > 0 && more < stride[axis]) written[axis] = volume[axis];
    }
    return written;
  }

  void append(Node node, const ValueWindow& window, Vec3 extent, NodeWeights weights) {
    node.beyond = {Vec3{} - window.begin, window.end - extent};
    nodes_.push_back(std::move(node));
    windows_of_new_.push_back(window);
    extents_of_new_.push_back(extent);
    weights_.push_back(std::move(weights));
  }

  // A new value's number, begin, end, and the kind of padding of a copy.
  using CropKey = std::tuple<int, Vec3, Vec3, std::optional<OutsideKind>>;

  LoadedNetwork padded_;
  const std::vector<Border>& pads_;
  const std::vector<OutsideKind>& kinds_;
  const ValueWindows& windows_;
  std::set<std::string> names_;
  std::vector<int> numbers_ = {0};           // per value of the padded network, its new number
  std::map<CropKey, int> crops_;             // the new value that is the Crop
  std::vector<Node> nodes_;                  // of the valid network, as all below
  std::vector<ValueWindow> windows_of_new_;  // per value
  std::vector<Vec3> extents_of_new_;         // per value, of the volume alone
  NetworkWeights weights_;
};

// Checks that every voxel that a crop repeats is read together with the one at the border, and every one that it
// reflects with its copy.
Result<void> check_edges(const std::string& name, const Crop& crop, const Border& pads) {
  const Vec3 before = pads.begin - crop.begin;
  const Vec3 behind = pads.end - crop.end;
  const Vec3 times = Vec3::cube(crop.reflects ? 2 : 1);
  const bool widens = covers(before, {}) && covers(behind, {});
  if (widens && covers(crop.begin, behind * times) && covers(crop.end, before * times)) return {};
  return Error{ErrorCode::unsupported, "node " + name + " crops by " + to_string(crop.begin) + " and " +
                                           to_string(crop.end) + " what it pads by " + to_string(pads.begin) + " and " +
                                           to_string(pads.end) +
                                           "; it may pad by as much, and by as much more as it crops at the other end" +
                                           (crop.reflects ? ", halved, as it reflects" : "")};
}

// Checks that an upsampling that interpolates pads by the one voxel that it reads beside each.
Result<void> check_edges(const std::string& name, const Upsample& up, const Border& pads) {
  const Vec3 most = (upsampling_window(up.kind, up.factor) - Vec3::cube(1)) / Vec3::cube(2);
  if (covers(most, max(pads.begin, pads.end))) return {};
  return Error{ErrorCode::unsupported, "node " + name + " upsamples and pads by " + to_string(pads.begin) + " and " +
                                           to_string(pads.end) + "; at most " + to_string(most) + " is right"};
}

Result<void> check_pads(const Network& network, const std::vector<Border>& pads) {
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const Operation& operation = network.nodes[i].operation;
    if (pads[i] == Border{}) continue;
    const auto* up = std::get_if<Upsample>(&operation);
    const auto* crop = std::get_if<Crop>(&operation);
    if (up != nullptr || crop != nullptr) {
      Result<void> sound = up != nullptr ? check_edges(network.nodes[i].name, *up, pads[i])
                                         : check_edges(network.nodes[i].name, *crop, pads[i]);
      if (!sound) return sound;
      continue;
    }
    const auto* pool = std::get_if<Pooling>(&operation);
    const bool whole = pool != nullptr &&
                       !covers(dilated(pool->window, pool->dilation) - Vec3::cube(1), max(pads[i].begin, pads[i].end));
    if (whole) {
      return Error{ErrorCode::unsupported,
                   "node " + network.nodes[i].name + " pads by as much as its window, " + to_string(pool->window)};
    }
    if (traits_of(operation).pads_with) continue;
    return Error{ErrorCode::unsupported,
                 "node " + network.nodes[i].name + " pads; convolutions, poolings, crops and linear upsamplings may"};
  }
  return {};
}

// Appends an upsampling that repeats each voxel of `value`, and returns the value that it writes.
int append_repetition(LoadedNetwork& loaded, std::vector<Border>& pads, const std::string& output, int value,
                      Vec3 stride) {
  std::set<std::string> names{loaded.network.input_name};
  for (const Node& node : loaded.network.nodes) names.insert(node.name);
  loaded.network.nodes.push_back({free_name(names, output + " repeated"), Upsample{stride}, {value}});
  if (!loaded.weights.empty()) loaded.weights.emplace_back();
  pads.emplace_back();
  return static_cast<int>(loaded.network.nodes.size());
}

// Repeats the output, if it has a stride.
Result<void> repeat_output(LoadedNetwork& loaded, std::vector<Border>& pads) {
  const Result<Vec3> stride = find_output_stride(loaded.network, pads);
  if (!stride) return stride.error();
  if (*stride == Vec3::cube(1)) return {};
  loaded.network.output_stride = *stride;
  append_repetition(loaded, pads, "output", static_cast<int>(loaded.network.nodes.size()), *stride);
  return {};
}

// Repeats each of the outputs that the last node, a Concat, joins.
void repeat_joined(LoadedNetwork& loaded, std::vector<Border>& pads, const std::vector<Vec3>& strides) {
  Node join = std::move(loaded.network.nodes.back());
  loaded.network.nodes.pop_back();
  if (!loaded.weights.empty()) loaded.weights.pop_back();
  pads.pop_back();
  for (std::size_t i = 0; i < strides.size(); ++i) {
    NamedTensor& output = loaded.network.outputs[i];
    output.stride = strides[i];
    if (output.stride == Vec3::cube(1)) continue;
    join.inputs[i] = append_repetition(loaded, pads, output.name, join.inputs[i], output.stride);
  }
  loaded.network.nodes.push_back(std::move(join));
  if (!loaded.weights.empty()) loaded.weights.emplace_back();
  pads.emplace_back();
}

// Repeats the output, or several before they are joined, if these have different strides.
Result<void> repeat_outputs(LoadedNetwork& loaded, std::vector<Border>& pads) {
  const Result<std::vector<Vec3>> strides = find_joined_strides(loaded.network, pads);
  if (!strides) return strides.error();
  const bool differ = std::adjacent_find(strides->begin(), strides->end(), std::not_equal_to<>()) != strides->end();
  if (!differ) return repeat_output(loaded, pads);
  repeat_joined(loaded, pads, *strides);
  return {};
}

}  // namespace

Result<LoadedNetwork> without_padding(LoadedNetwork loaded, std::vector<Border> pads, Vec3 declared) {
  ensure(pads.size() == loaded.network.nodes.size(), "pads of every node");
  if (Result<void> sound = check_nodes(loaded.network); !sound) return sound.error();
  const bool padded = has_pads(pads);
  const bool strided = has_own_strides(loaded.network, padded);
  if (!padded && !strided) return loaded;
  if (Result<void> sound = check_pads(loaded.network, pads); !sound) return sound.error();
  NodePads own = take_in_reflections(loaded, pads);
  for (Node& node : loaded.network.nodes) {
    if (auto* pool = std::get_if<Pooling>(&node.operation); pool != nullptr) pool->strided = strided;
  }
  if (Result<void> repeated = repeat_outputs(loaded, pads); !repeated) return repeated.error();
  own.kinds.resize(pads.size(), OutsideKind::zero);
  const Result<ValueWindows> windows = find_windows(loaded.network, pads, declared);
  if (!windows) return windows.error();
  const Result<Vec3> least = find_min_volume(loaded.network, pads, own, windows->extents, declared);
  if (!least) return least.error();
  loaded.network.min_volume = *least;
  return Framing(std::move(loaded), pads, own.kinds, *windows).run();
}

}  // namespace znni
