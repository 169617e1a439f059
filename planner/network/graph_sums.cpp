#include "planner/network/graph_sums.hpp"

#include <optional>
#include <utility>

#include "primitives/core/fragments.hpp"

namespace znni {
namespace {

// Each pair of them is looked at, once per pair that is joined.
constexpr std::size_t max_addends = 16;

// An input of an Add, as a map of the tensor that it comes from.
struct Addend {
  int source = 0;        // value
  int node = -1;         // Convolution or ScaleShift; -1: the tensor itself
  Convolution taps;      // of one tap where it is no convolution
  Vec3 begin;            // of the first tap
  bool is_owned = true;  // no other node reads it, nor what it was before it was cropped
};

// Goes back to what the source was cropped from; whether no other node reads what lies between.
bool go_through_crops(const Network& network, Addend& addend) {
  bool is_owned = true;
  while (addend.source > 0) {
    const Node& writer = network.nodes[index(addend.source - 1)];
    const auto* crop = std::get_if<Crop>(&writer.operation);
    if (crop == nullptr || writer.outside != Border{}) break;  // what is outside of it is zero, of its source not
    is_owned = is_owned && is_read_once(network, addend.source);
    addend.begin = addend.begin + crop->begin;
    addend.source = writer.inputs.front();
  }
  return is_owned;
}

Addend addend_of(const Network& network, int value) {
  Addend addend;
  addend.source = value;
  addend.is_owned = go_through_crops(network, addend);
  if (addend.source == 0) return addend;
  const Node& writer = network.nodes[index(addend.source - 1)];
  const auto* conv = std::get_if<Convolution>(&writer.operation);
  const bool is_linear = conv != nullptr && conv->activation.kind == ActivationKind::none &&
                         conv->stride == Vec3::cube(1) && conv->groups == 1 && writer.inputs.size() == 1;
  if (!is_linear && !std::holds_alternative<ScaleShift>(writer.operation)) return addend;
  if (is_linear) addend.taps = *conv;
  addend.is_owned = addend.is_owned && is_read_once(network, addend.source);
  addend.node = addend.source - 1;
  addend.source = writer.inputs.front();
  go_through_crops(network, addend);
  return addend;
}

bool is_convolution(const Network& network, const Addend& addend) {
  return addend.node >= 0 && std::holds_alternative<Convolution>(network.nodes[index(addend.node)].operation);
}

// Returns the tap of `whole` on which tap `tap` of `part` falls; nothing if there is none.
std::optional<Vec3> tap_in(const Addend& whole, const Addend& part, Vec3 tap) {
  const Vec3 at = part.begin + tap * part.taps.dilation - whole.begin;
  if (!covers(at, {})) return std::nullopt;
  const Vec3 found = at / whole.taps.dilation;
  if (found * whole.taps.dilation != at || !covers(whole.taps.k, found + Vec3::cube(1))) return std::nullopt;
  return found;
}

bool can_take(const Network& network, const Addend& whole, const Addend& part) {
  if (!is_convolution(network, whole) || !whole.is_owned || whole.source != part.source) return false;
  const Vec3 last = part.taps.k - Vec3::cube(1);
  const Vec3 step = min(last, Vec3::cube(1)) * part.taps.dilation;  // 0 along an axis of one tap
  return tap_in(whole, part, {}) && tap_in(whole, part, last) && step % whole.taps.dilation == Vec3{};
}

// Returns the weight of tap `tap` from channel i to channel j.
float weight(const LoadedNetwork& loaded, const Addend& addend, std::int64_t f, std::int64_t pair, std::int64_t tap) {
  if (is_convolution(loaded.network, addend)) {
    const std::int64_t at = pair * voxels(addend.taps.k) + tap;
    return loaded.weights[index(addend.node)].kernels[static_cast<std::size_t>(at)];
  }
  if (pair / f != pair % f) return 0.0F;
  return addend.node < 0 ? 1.0F : loaded.weights[index(addend.node)].scale[static_cast<std::size_t>(pair / f)];
}

void add_bias(NodeWeights& to, const NodeWeights& from, std::int64_t f_out) {
  const std::vector<float>& more = from.bias.empty() ? from.shift : from.bias;
  if (more.empty()) return;
  to.bias.resize(static_cast<std::size_t>(f_out), 0.0F);
  for (std::size_t j = 0; j < to.bias.size(); ++j) to.bias[j] += more[j];
}

void add_weights(LoadedNetwork& loaded, const Addend& whole, const Addend& part) {
  NodeWeights& to = loaded.weights[index(whole.node)];
  const std::int64_t taps = voxels(whole.taps.k);
  const std::int64_t pairs = static_cast<std::int64_t>(to.kernels.size()) / taps;
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    for (std::int64_t tap = 0; tap < voxels(part.taps.k); ++tap) {
      const Vec3 place = *tap_in(whole, part, fragment_at(tap, part.taps.k));
      const std::int64_t at = pair * taps + fragment_index(place, whole.taps.k);
      to.kernels[static_cast<std::size_t>(at)] += weight(loaded, part, pairs / whole.taps.f_out, pair, tap);
    }
  }
  if (part.node >= 0) add_bias(to, loaded.weights[index(part.node)], whole.taps.f_out);
}

// Returns the numbers of two inputs: the one that takes in the other, and the other.
std::optional<std::pair<std::size_t, std::size_t>> find_pair(const Network& network, const std::vector<Addend>& all) {
  for (std::size_t whole = 0; whole < all.size(); ++whole) {
    for (std::size_t part = 0; part < all.size(); ++part) {
      if (whole != part && can_take(network, all[whole], all[part])) return std::pair{whole, part};
    }
  }
  return std::nullopt;
}

}  // namespace

bool join_addends(LoadedNetwork& loaded, int node) {
  Node& sum = loaded.network.nodes[index(node)];
  const auto* add = std::get_if<Add>(&sum.operation);
  if (add == nullptr || sum.inputs.size() > max_addends) return false;
  std::vector<Addend> addends;
  for (const int input : sum.inputs) addends.push_back(addend_of(loaded.network, input));
  const auto pair = find_pair(loaded.network, addends);
  if (!pair) return false;
  if (!loaded.weights.empty()) add_weights(loaded, addends[pair->first], addends[pair->second]);
  sum.inputs.erase(sum.inputs.begin() + static_cast<std::ptrdiff_t>(pair->second));
  if (sum.inputs.size() == 1) sum.operation = Activate{add->activation};
  remove_unread(loaded);
  return true;
}

}  // namespace znni
