#include "planner/network/padding.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace znni {
namespace {

// How much of frame and volume a value has left.
struct Lattice {
  Border used;  // zeros of the frame that nodes up to it have padded with
  Vec3 lost;    // voxels of the volume that it lacks; negative where padding makes it larger
};

Border operator+(const Border& a, const Border& b) { return {a.begin + b.begin, a.end + b.end}; }
Border operator-(const Border& a, const Border& b) { return {a.begin - b.begin, a.end - b.end}; }

Vec3 lost_by(const Operation& operation) {
  if (const auto* conv = std::get_if<Convolution>(&operation)) return dilated(conv->k, conv->dilation) - Vec3::cube(1);
  if (const auto* pool = std::get_if<Pooling>(&operation)) return pool->window - Vec3::cube(1);
  if (const auto* crop = std::get_if<Crop>(&operation)) return crop->begin + crop->end;
  return {};
}

Vec3 stride_of(const Operation& operation) {
  const auto* pool = std::get_if<Pooling>(&operation);
  return pool == nullptr ? Vec3::cube(1) : pool->stride;
}

std::string loss_text(Vec3 lost) { return to_string(lost) + " voxels less than the volume"; }

// Builds the valid network node by node.
class Framing {
 public:
  Framing(LoadedNetwork padded, const std::vector<Border>& pads) : padded_(std::move(padded)), pads_(pads) {
    for (const Node& node : padded_.network.nodes) names_.insert(node.name);
    names_.insert(padded_.network.input_name);
  }

  Result<LoadedNetwork> run() {
    for (std::size_t i = 0; i < padded_.network.nodes.size(); ++i) {
      if (Result<void> added = add_node(i); !added) {
        return added.error().within("node " + padded_.network.nodes[i].name);
      }
    }
    set_borders();
    padded_.network.nodes = std::move(nodes_);
    if (!padded_.weights.empty()) padded_.weights = std::move(weights_);
    return std::move(padded_);
  }

 private:
  Result<void> add_node(std::size_t number) {
    Node node = padded_.network.nodes[number];
    const Border& pads = pads_[number];
    if (pads != Border{} && !std::holds_alternative<Convolution>(node.operation)) {
      return Error{ErrorCode::unsupported, "pads; only convolutions may"};
    }
    if (stride_of(node.operation) != Vec3::cube(1)) {
      return Error{ErrorCode::unsupported,
                   "has a stride of " + to_string(stride_of(node.operation)) + " in a network that pads; only 1"};
    }
    for (int& input : node.inputs) input = numbers_[index(input)];
    // Each input's lattice behind the node.
    std::vector<Lattice> behind;
    for (const int input : node.inputs) behind.push_back(lattices_[index(input)]);
    behind.front().used = behind.front().used + pads;
    behind.front().lost = behind.front().lost + lost_by(node.operation) - pads.begin - pads.end;
    Lattice joined = behind.front();
    for (const Lattice& other : behind) {
      if (other.lost != joined.lost) {
        return Error{ErrorCode::unsupported,
                     "branches do not meet: one has " + loss_text(joined.lost) + ", another " + loss_text(other.lost)};
      }
      joined.used = {max(joined.used.begin, other.used.begin), max(joined.used.end, other.used.end)};
    }
    for (std::size_t i = 0; i < behind.size(); ++i) crop_input(node, i, joined.used - behind[i].used);
    append(std::move(node), pads, joined, padded_.weights.empty() ? NodeWeights{} : padded_.weights[number]);
    numbers_.push_back(static_cast<int>(nodes_.size()));
    return {};
  }

  // The input loses the part of the frame that another one has used up.
  void crop_input(Node& node, std::size_t number, const Border& by) {
    if (by == Border{}) return;
    int& input = node.inputs[number];
    Lattice lattice = lattices_[index(input)];
    lattice.used = lattice.used + by;
    append({free_name(node.name + " crop"), Crop{by.begin, by.end}, {input}}, {}, lattice, {});
    input = static_cast<int>(nodes_.size());
  }

  void append(Node node, const Border& pads, const Lattice& lattice, NodeWeights weights) {
    nodes_.push_back(std::move(node));
    own_pads_.push_back(pads);
    lattices_.push_back(lattice);
    weights_.push_back(std::move(weights));
  }

  std::string free_name(const std::string& name) {
    std::string found = name;
    for (int number = 2; !names_.insert(found).second; ++number) found = name + " " + std::to_string(number);
    return found;
  }

  // Sets what a value has left of the frame as outside, along axes where a reader pads.
  void set_borders() {
    const Border frame = lattices_.back().used;
    padded_.network.frame = frame;
    for (std::size_t reader = 0; reader < nodes_.size(); ++reader) {
      const int value = nodes_[reader].inputs.front();
      if (value == 0) continue;
      const Border left = frame - lattices_[index(value)].used;
      Border& outside = nodes_[index(value - 1)].outside;
      for (int axis = 0; axis < 3; ++axis) {
        if (own_pads_[reader].begin[axis] > 0) outside.begin[axis] = left.begin[axis];
        if (own_pads_[reader].end[axis] > 0) outside.end[axis] = left.end[axis];
      }
    }
  }

  LoadedNetwork padded_;
  const std::vector<Border>& pads_;
  std::set<std::string> names_;
  std::vector<int> numbers_ = {0};               // per value of the padded network, its number in the valid one
  std::vector<Node> nodes_;                      // of the valid network, as all below
  std::vector<Border> own_pads_;                 // per node
  std::vector<Lattice> lattices_ = {Lattice{}};  // per value
  NetworkWeights weights_;
};

}  // namespace

Result<LoadedNetwork> without_padding(LoadedNetwork loaded, const std::vector<Border>& pads) {
  ensure(pads.size() == loaded.network.nodes.size(), "pads of every node");
  const bool valid = std::all_of(pads.begin(), pads.end(), [](const Border& border) { return border == Border{}; });
  if (valid) return loaded;
  if (Result<void> sound = check_nodes(loaded.network); !sound) return sound.error();
  return Framing(std::move(loaded), pads).run();
}

}  // namespace znni
