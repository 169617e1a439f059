#include "planner/geometry/rounding_reach.hpp"

#include "planner/network/swap_axes.hpp"

namespace znni {
namespace {

Vec3 widest_margin(const Geometry& geometry) {
  Vec3 widest = geometry.patch_output - Vec3::cube(1);
  if (geometry.choice.streamed) widest.z = saturated;
  return swap_axes(widest, geometry.choice.axis);
}

}  // namespace

RoundingReach rounding_reach(const Network& network, const Geometry& geometry, const std::vector<Vec3>& spreads) {
  const std::vector<Reach> reach = reaches(network);
  std::vector<Vec3> margins = {Vec3{}};  // per value
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const std::vector<int>& inputs = network.nodes[i].inputs;
    const auto first = static_cast<std::size_t>(inputs.front());
    Vec3 margin = margins[first] + reach[first].stride * swap_axes(spreads[i], geometry.choice.axis);
    for (const int input : inputs) margin = max(margin, margins[static_cast<std::size_t>(input)]);
    margins.push_back(margin);
  }
  // A mean carries an error to all voxels.
  if (is_tile_bound(network)) return {reach.back().fov, widest_margin(geometry)};
  // Voxels of one period read what the first or the last of them reads.
  const Vec3 margin = margins.back() + period(network) - Vec3::cube(1);
  return {reach.back().fov, min(margin, widest_margin(geometry))};
}

}  // namespace znni
