#include "planner/network/network_reach.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "planner/network/operation_traits.hpp"
#include "planner/network/reading.hpp"
#include "primitives/core/index.hpp"

namespace znni {
namespace {

// Returns what a window of `window` voxels at every `stride`th place makes of a reach.
Reach widened(Reach in, Vec3 window, Vec3 stride) {
  const Vec3 grown = in.stride * (window - Vec3::cube(1));
  for (int axis = 0; axis < 3; ++axis) in.fov[axis] = add(in.fov[axis], grown[axis]);
  in.stride = in.stride * stride;
  return in;
}

// Returns whether an input of extent `n` along `axis` leaves no rest in any value, and none empty.
bool is_exact(const Network& network, const std::vector<Reach>& reach, int axis, std::int64_t n) {
  for (std::size_t value = 0; value < reach.size(); ++value) {
    const std::int64_t rest = n - reach[value].fov[axis];
    if (rest < 0 || rest % reach[value].stride[axis] != 0) return false;
  }
  return network.frame.begin[axis] + network.frame.end[axis] < n;
}

// Returns the smallest extent, frame included, of a volume that has `least` voxels or more.
std::optional<std::int64_t> min_along(const Network& network, const std::vector<Reach>& reach, int axis,
                                      std::int64_t period, std::int64_t least) {
  least += network.frame.begin[axis] + network.frame.end[axis];
  for (const Reach& value : reach) least = std::max(least, value.fov[axis]);
  for (std::int64_t n = least; n < least + period; ++n) {
    if (is_exact(network, reach, axis, n)) return n;
  }
  return std::nullopt;
}

}  // namespace

Reach reach_after(const Operation& operation, Reach in) {
  const Reading reading = reading_of(operation);
  in = widened(in, reading.window, reading.stride);
  const Vec3 finer = in.stride / reading.factor;
  return {in.fov - in.stride + finer, finer};
}

std::vector<Reach> reaches(const Network& network) {
  std::vector<Reach> result = {Reach{}};
  for (const Node& node : network.nodes) {
    result.push_back(reach_after(node.operation, result[index(node.inputs.front())]));
  }
  return result;
}

Vec3 framed(const Network& network, Vec3 volume) { return volume + network.frame.begin + network.frame.end; }

Vec3 lost_extent(const Network& network) {
  return reaches(network).back().fov - network.frame.begin - network.frame.end;
}

bool is_strided(const Network& network) {
  return std::any_of(network.nodes.begin(), network.nodes.end(),
                     [](const Node& node) { return is_resized(reading_of(node.operation)); });
}

Vec3 padded_axes(const Network& network) {
  Vec3 most = max(network.frame.begin, network.frame.end);
  for (const Node& node : network.nodes) {
    const Border padding = reading_of(node.operation).padding;
    most = max(most, max(max(node.outside.begin, node.outside.end), max(padding.begin, padding.end)));
  }
  return min(most, Vec3::cube(1));
}

bool reads_all_voxels(const Operation& operation) { return !traits_of(operation).over_all.does.empty(); }

bool is_tile_bound(const Network& network) {
  return std::any_of(network.nodes.begin(), network.nodes.end(),
                     [](const Node& node) { return reads_all_voxels(node.operation); });
}

bool is_dense(const Network& network) {
  return padded_axes(network) == Vec3{} && !is_strided(network) && !is_tile_bound(network);
}

Result<void> check_volume(const Network& network, Vec3 volume) {
  const Vec3 least = min_extent(network) - network.frame.begin - network.frame.end;
  for (int axis = 0; axis < 3; ++axis) {
    if (volume[axis] >= network.min_volume[axis]) continue;
    return Error{ErrorCode::invalid_argument,
                 "the volume has " + std::to_string(volume[axis]) + " voxels along " + "zyx"[axis] +
                     "; the network's pads reflect voxels further inside, for which it needs at least " +
                     std::to_string(least[axis])};
  }
  if (!is_strided(network)) return {};
  const Vec3 along = period(network);
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t rest = (volume[axis] - least[axis]) % along[axis];
    if (rest == 0) continue;
    const std::int64_t floor = volume[axis] - (rest < 0 ? rest + along[axis] : rest);
    const std::int64_t below = std::max(floor, least[axis]);
    return Error{ErrorCode::invalid_argument, "the volume has " + std::to_string(volume[axis]) + " voxels along " +
                                                  "zyx"[axis] + "; the network's strides need steps of " +
                                                  std::to_string(along[axis]) + ", here " + std::to_string(below) +
                                                  " or " + std::to_string(below + along[axis]) + ": pad or crop it"};
  }
  return {};
}

Vec3 period(const Network& network) {
  Vec3 result = Vec3::cube(1);
  if (!is_strided(network)) return result;
  for (const Reach& reach : reaches(network)) {
    for (int axis = 0; axis < 3; ++axis) {
      result[axis] = mul(result[axis] / std::gcd(result[axis], reach.stride[axis]), reach.stride[axis]);
    }
  }
  return result;
}

Result<Vec3> find_min_extent(const Network& network) {
  constexpr std::string_view axis_names = "zyx";
  const std::vector<Reach> reach = reaches(network);
  if (!is_strided(network)) return max(reach.back().fov, framed(network, network.min_volume));
  const Vec3 along = period(network);
  Vec3 least;
  for (int axis = 0; axis < 3; ++axis) {
    const std::optional<std::int64_t> found = min_along(network, reach, axis, along[axis], network.min_volume[axis]);
    if (!found) {
      return Error{ErrorCode::invalid_argument, std::string("no extent of the input along ") +
                                                    axis_names[static_cast<std::size_t>(axis)] +
                                                    " fits the strides of all branches"};
    }
    least[axis] = *found;
  }
  return least;
}

Vec3 min_extent(const Network& network) {
  const Result<Vec3> least = find_min_extent(network);
  ensure(least.has_value(), "extents fit the strides of a checked network");
  return *least;
}

Vec3 min_patch(const Network& network) {
  Network patch = network;
  patch.min_volume = Vec3::cube(1);
  return min_extent(patch);
}

}  // namespace znni
