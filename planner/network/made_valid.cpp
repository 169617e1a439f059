#include "planner/network/made_valid.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "planner/network/operation_traits.hpp"
#include "planner/network/padding.hpp"
#include "planner/network/sound_voxels.hpp"

namespace znni {
namespace {

// A value of the padded network in the valid one.
struct NewValue {
  int number = 0;
  Border lost;  // of the padded value's voxels, those that it lacks at its ends; below 0: voxels beyond them
};

// Builds the valid network node by node, still as files have them: with the pads that an operation cannot do without.
class ValidBuilder {
 public:
  ValidBuilder(const LoadedNetwork& padded, const SoundVoxels& sound) : padded_(padded), sound_(sound) {
    for (const Node& node : network().nodes) names_.insert(node.name);
    names_.insert(network().input_name);
    values_.resize(network().nodes.size() + 1);
  }

  Result<MadeValid> run() {
    begin();
    for (int number = 0; number < static_cast<int>(network().nodes.size()); ++number) {
      if (sound_.is_needed(number + 1)) add_node(number);
    }
    end();
    if (nodes_.empty()) return Error{ErrorCode::unsupported, "does nothing but pad, so that nothing is left of it"};
    return finish();
  }

 private:
  [[nodiscard]] const Network& network() const { return padded_.network; }

  // A network with strides of its own reads its input from where these fall on the same voxels as with padding.
  void begin() {
    const Border needed = sound_.needed(0);
    const Border moved = sound_.moved();
    const Crop crop{needed.begin - moved.begin, needed.end - moved.end};
    values_.front() = {0, needed};
    if (crop == Crop{}) return;
    note("input", ValidChangeKind::input_cropped, {crop.begin, crop.end});
    append({free_name("input crop"), crop, {0}}, {}, {});
    values_.front().number = last();
  }

  void add_node(int number) {
    const Node& node = network().nodes[index(number)];
    const FileReading& reading = sound_.reading(number);
    if (std::holds_alternative<Crop>(node.operation)) return add_crop(number);
    if (sound_.only_pads(number)) {
      note(node.name, ValidChangeKind::removed, reading.pads);
      return pass_on(number);
    }
    sound_.keeps_pads(number) || sound_.shuffles_kept(number) ? add_kept(number) : add_unpadded(number);
  }

  // Makes the node's value that of its input.
  void pass_on(int number) {
    const NewValue& in = values_[index(network().nodes[index(number)].inputs.front())];
    const Border& pads = sound_.reading(number).pads;
    values_[index(number) + 1] = {in.number, {in.lost.begin + pads.begin, in.lost.end + pads.end}};
  }

  // A crop of the file takes away what is left of its voxels. What padding has cropped or repeated is passed on.
  void add_crop(int number) {
    const Node& node = network().nodes[index(number)];
    pass_on(number);
    NewValue& own = values_[index(number) + 1];
    const Border& pads = sound_.reading(number).pads;
    if (pads == Border{}) return;
    if (covers(min(pads.begin, pads.end), {})) return note(node.name, ValidChangeKind::removed, pads);
    const Border wanted = sound_.needed(number + 1);
    const Crop crop{wanted.begin - own.lost.begin, wanted.end - own.lost.end};
    if (Border{crop.begin, crop.end} != Border{Vec3{} - pads.begin, Vec3{} - pads.end}) {
      note(node.name, ValidChangeKind::output_cropped, {crop.begin, crop.end});
    }
    if (crop == Crop{}) return;
    append({node.name, crop, {own.number}}, {}, {});
    own = {last(), wanted};
  }

  void add_unpadded(int number) {
    Node node = network().nodes[index(number)];
    const Border& pads = sound_.reading(number).pads;
    const Border around{max(pads.begin, {}), max(pads.end, {})};
    if (around != Border{}) note(node.name, ValidChangeKind::unpadded, around);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Border wanted = i == 0 ? sound_.read_by(number) : sound_.needed(number + 1);
      node.inputs[i] = cropped(node.name, static_cast<int>(i), values_[index(node.inputs[i])], wanted);
    }
    append_own(number, std::move(node), {}, sound_.needed(number + 1));
  }

  // Adds a node with the pads that files give it. Its readers crop what it makes of them.
  void add_kept(int number) {
    Node node = network().nodes[index(number)];
    const FileReading& reading = sound_.reading(number);
    NewValue in = values_[index(node.inputs.front())];
    Border pads;
    if (sound_.keeps_pads(number)) {
      const Border wanted = sound_.read_by(number);
      in = {cropped(node.name, 0, in, wanted), wanted};
      pads = reading.pads;
    }
    node.inputs.front() = in.number;
    append_own(number, std::move(node), pads, {in.lost.begin * reading.factor, in.lost.end * reading.factor});
  }

  void append_own(int number, Node node, const Border& pads, const Border& lost) {
    append(std::move(node), padded_.weights.empty() ? NodeWeights{} : padded_.weights[index(number)], pads);
    values_[index(number) + 1] = {last(), lost};
  }

  // Returns the number of the value, or of a Crop of it that has lost `wanted`, for an input of the reader.
  int cropped(const std::string& reader, int input, const NewValue& value, const Border& wanted) {
    const Crop crop{wanted.begin - value.lost.begin, wanted.end - value.lost.end};
    if (crop == Crop{}) return value.number;
    note(reader, ValidChangeKind::input_cropped, {crop.begin, crop.end}, input);
    const auto [found, is_new] = crops_.try_emplace(std::tuple(value.number, crop.begin, crop.end), 0);
    if (is_new) {
      append({free_name(reader + " crop"), crop, {value.number}}, {}, {});
      found->second = last();
    }
    return found->second;
  }

  // Adds what the outputs have besides, and the node that joins several.
  void end() {
    const std::vector<int>& outputs = sound_.outputs();
    if (network().outputs.empty()) {
      const NewValue& own = values_[index(outputs.front())];
      const Border& wanted = sound_.lost_of_output(0);
      if (own.lost != wanted) static_cast<void>(cropped("output", 0, own, wanted));
      return;
    }
    Node join = network().nodes[index(sound_.join())];
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const NewValue& own = values_[index(outputs[i])];
      join.inputs[i] = cropped(network().outputs[i].name, 0, own, sound_.lost_of_output(i));
    }
    append(std::move(join), {}, {});
  }

  Result<MadeValid> finish() {
    Network valid = network();
    valid.nodes = std::move(nodes_);
    valid.frame = {};
    valid.output_stride = Vec3::cube(1);
    valid.min_volume = Vec3::cube(1);
    for (NamedTensor& output : valid.outputs) output.stride = Vec3::cube(1);
    LoadedNetwork raw{std::move(valid), padded_.weights.empty() ? NetworkWeights{} : std::move(weights_)};
    Result<LoadedNetwork> made = without_padding(std::move(raw), std::move(pads_));
    if (!made) return made.error();
    if (const Result<void> sound = check(made->network); !sound) {
      return Error{ErrorCode::unsupported, sound.error().message};
    }
    ensure(!has_padding(made->network), "a valid network");
    return MadeValid{*std::move(made), std::move(changes_), sound_.first(), sound_.step()};
  }

  void append(Node node, NodeWeights weights, const Border& pads) {
    node.outside = {};
    node.outside_kind = OutsideKind::zero;
    node.beyond = {};
    if (auto* pool = std::get_if<Pooling>(&node.operation); pool != nullptr) {
      pool->strided = false;
      if (pool->kind == PoolKind::average_inside) pool->kind = PoolKind::average;  // all is inside
    }
    nodes_.push_back(std::move(node));
    weights_.push_back(std::move(weights));
    pads_.push_back(pads);
  }

  void note(const std::string& node, ValidChangeKind kind, const Border& voxels, int input = 0) {
    changes_.push_back({node, kind, voxels, input});
  }

  // Returns `name`, or with the first number behind it that is free, and takes it.
  std::string free_name(const std::string& name) {
    std::string found = name;
    for (int number = 2; !names_.insert(found).second; ++number) found = name + " " + std::to_string(number);
    return found;
  }

  [[nodiscard]] int last() const { return static_cast<int>(nodes_.size()); }

  using CropKey = std::tuple<int, Vec3, Vec3>;  // a new value's number, begin, end

  const LoadedNetwork& padded_;
  const SoundVoxels& sound_;
  std::set<std::string> names_;
  std::vector<NewValue> values_;  // per value of the padded network
  std::map<CropKey, int> crops_;  // the new value that is the Crop
  std::vector<Node> nodes_;       // of the valid network, as all below
  NetworkWeights weights_;
  std::vector<Border> pads_;
  std::vector<ValidChange> changes_;
};

// Fails if the network is bound to its window.
Result<void> check_local(const Network& network) {
  for (const Node& node : network.nodes) {
    if (!reads_all_voxels(node.operation)) continue;
    return Error{ErrorCode::unsupported, "node " + node.name + " " +
                                             std::string(traits_of(node.operation).over_all.does) +
                                             " all voxels of its window: without padding every voxel would be another"};
  }
  return {};
}

}  // namespace

bool has_padding(const Network& network) {
  return network.frame != Border{} || std::any_of(network.nodes.begin(), network.nodes.end(),
                                                  [](const Node& node) { return node.outside != Border{}; });
}

Result<MadeValid> make_valid(const LoadedNetwork& padded) {
  if (!has_padding(padded.network)) return MadeValid{padded, {}, {}};
  if (const Result<void> local = check_local(padded.network); !local) return local.error();
  const SoundVoxels sound(padded);
  return ValidBuilder(padded, sound).run();
}

}  // namespace znni
