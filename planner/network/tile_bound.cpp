#include "planner/network/tile_bound.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "planner/network/channel_numbers.hpp"
#include "planner/network/operation_traits.hpp"

namespace znni {
namespace {

constexpr std::int64_t max_extent = std::int64_t{1} << 30;  // keeps arithmetic on extents from overflowing

Error invalid(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

const Node& first_bound(const Network& network) {
  const auto found = std::find_if(network.nodes.begin(), network.nodes.end(),
                                  [](const Node& node) { return reads_all_voxels(node.operation); });
  ensure(found != network.nodes.end(), "a network that is bound to its window reads all voxels");
  return *found;
}

std::string done_by(const Node& node) { return std::string(traits_of(node.operation).over_all.does) + " all voxels"; }

Result<void> check_poolings(const Network& network) {
  for (const int node : pooling_nodes(network)) {
    const Node& pool = network.nodes[static_cast<std::size_t>(node)];
    if (std::get<Pooling>(pool.operation).stride == Vec3::cube(1)) continue;
    const Node& bound = first_bound(network);
    return invalid("node " + pool.name + " is a dense pooling, and node " + bound.name + " " + done_by(bound));
  }
  return {};
}

}  // namespace

Result<void> check_window(const Network& network) {
  if (!is_tile_bound(network)) {
    if (network.window == Vec3{}) return {};
    return invalid("has a window, and no node that normalises over all voxels, pools them or aligns their corners");
  }
  if (Result<void> sound = check_poolings(network); !sound) return sound;
  if (const Node* const numbers = find_arg_max(network); numbers != nullptr) {
    return Error{ErrorCode::unsupported,
                 "node " + numbers->name +
                     " writes numbers of channels, and windows that overlap would make means of "
                     "them; export the network without its ArgMax"};
  }
  if (network.window == Vec3{}) return {};
  if (!covers(Vec3::cube(max_extent), network.window)) {
    return invalid("the window, " + to_string(network.window) + ", is larger than 2^30 along an axis");
  }
  const Vec3 fov = reaches(network).back().fov;
  if (covers(network.window, Vec3::cube(1)) && covers(framed(network, network.window), fov)) {
    return check_volume(network, network.window);
  }
  return invalid("the window, " + to_string(network.window) + ", is smaller than the field of view");
}

Vec3 axes_of_window(const Network& network) {
  if (!is_tile_bound(network)) return {};
  return padded_axes(network);
}

Result<std::optional<Vec3>> volume_of_window(const Network& network, std::optional<Vec3> volume) {
  if (!is_tile_bound(network)) return volume;
  const Vec3 frame = network.frame.begin + network.frame.end;
  const Node& bound = first_bound(network);
  const std::string why = network.name + " " + done_by(bound) + " of its window (node " + bound.name + ")";
  if (!volume && network.window == Vec3{}) {
    return invalid(why + ": say how large that is, with --volume Z,Y,X or the parameter 'window' of its config.pbtxt");
  }
  if (volume && network.window != Vec3{} && *volume != framed(network, network.window)) {
    return invalid(why + ", and that is " + to_string(network.window) + "; a plan for volumes of " +
                   to_string(*volume - frame) + " would compute something else");
  }
  return volume ? volume : std::optional(framed(network, network.window));
}

Result<void> check_normalised(const Network& network, Vec3 closed) {
  for (const Node& node : network.nodes) {
    if (!reads_all_voxels(node.operation)) continue;
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t begin = node.beyond.begin[axis];
      const std::int64_t end = node.beyond.end[axis];
      if (std::min(begin, end) >= 0 && (closed[axis] == 1 || std::max(begin, end) == 0)) continue;
      return invalid("node " + node.name + " would " + std::string(traits_of(node.operation).over_all.would) + " " +
                     to_string(node.beyond.begin) + " and " + to_string(node.beyond.end) +
                     " voxels beyond the volume, along " + std::string(1, "zyx"[axis]));
    }
  }
  return {};
}

}  // namespace znni
