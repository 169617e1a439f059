#include "planner/geometry/stem.hpp"

#include <algorithm>
#include <string>

#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

constexpr std::int64_t max_slabs = std::int64_t{1} << 16;

Error no_slabs(const std::string& why) { return refused("the stem cannot run in slabs: " + why); }

// Returns true if each node up to `last` reads the one before it, and no other node reads that one.
bool is_chain(const Network& network, int last) {
  const std::vector<int> readers = last_readers(network);
  for (int node = 0; node <= last; ++node) {
    const auto index = static_cast<std::size_t>(node);
    if (network.nodes[index].inputs != std::vector<int>{node} || readers[index] != node) return false;
  }
  return true;
}

}  // namespace

Result<void> check_stem(const Network& network, const GeometryChoice& choice) {
  const std::vector<int> poolings = pooling_nodes(network);
  if (poolings.empty()) return no_slabs("the network has no pooling");
  if (!is_chain(network, poolings.front())) return no_slabs("its nodes are not a chain");
  if (padded_axes(network) != Vec3{}) return no_slabs("the network pads");
  if (choice.S != 1 || network.f_in != 1) return no_slabs("it reads more than one channel");
  if (choice.modes.front().holds()) return no_slabs("what its pooling reads is held");
  return {};
}

Result<Stem> make_stem(const Network& network, const Geometry& whole) {
  Stem stem;
  stem.last = pooling_nodes(network).front();
  const auto last = static_cast<std::size_t>(stem.last);
  stem.step = std::get<Pooling>(network.nodes[last].operation).stride.z;
  const std::int64_t planes = whole.values[last + 1].n.z;
  const std::int64_t slab = whole.choice.stem_slab;
  if (slab < 1 || slab >= planes) {
    return no_slabs("slabs of " + std::to_string(slab) + " planes of " + std::to_string(planes));
  }
  if (div_up(planes, slab) > max_slabs) {
    return no_slabs(std::to_string(div_up(planes, slab)) + " slabs; the limit is " + std::to_string(max_slabs));
  }
  stem.input = tensor_shape(whole, 0);
  stem.input.n.z -= stem.step * (planes - slab);
  for (std::int64_t begin = 0; begin + slab < planes; begin += slab) stem.begins.push_back(begin);
  stem.begins.push_back(planes - slab);
  return stem;
}

}  // namespace znni
