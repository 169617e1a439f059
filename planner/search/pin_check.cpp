#include "planner/search/pin_check.hpp"

#include <algorithm>
#include <cstdlib>

#include "planner/geometry/cube.hpp"
#include "planner/geometry/geometry_family.hpp"
#include "planner/search/candidate_modes.hpp"
#include "planner/search/candidates.hpp"

namespace znni {
namespace {

Error wrong(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

std::string poolings_text(const Network& network) {
  const std::vector<int> poolings = pooling_nodes(network);
  std::string names;
  for (const int node : poolings) {
    names += (names.empty() ? " (" : ", ") + network.nodes[static_cast<std::size_t>(node)].name;
  }
  const std::size_t count = poolings.size();
  return network.name + " has " + (count == 0 ? "no" : std::to_string(count)) +
         (count == 1 ? " pooling" : " poolings") + names + (names.empty() ? "" : ")");
}

Result<void> check_allowed(const std::vector<PoolingMode>& modes, const SearchOptions& options) {
  const auto is_plain = [](const PoolingMode& mode) { return mode == PoolMode::plain; };
  if (options.strategy == Strategy::baseline && !std::all_of(modes.begin(), modes.end(), is_plain)) {
    return wrong("in --strategy baseline every pooling is max");
  }
  const bool is_forbidden = !options.pins.groups || options.strategy == Strategy::layerwise;
  if (!is_forbidden || !in_groups(modes)) return {};
  return wrong(std::string(options.pins.groups ? "--strategy layerwise" : "--no-groups") +
               " excludes fragments in groups");
}

// Returns the nearest of `extents` (rising) that is at most `wanted` (`below`), or at least it.
std::optional<std::int64_t> nearest(const std::vector<std::int64_t>& extents, std::int64_t wanted, bool below) {
  const auto at_least = std::lower_bound(extents.begin(), extents.end(), wanted);
  if (at_least != extents.end() && (!below || *at_least == wanted)) return *at_least;
  if (!below || at_least == extents.begin()) return std::nullopt;
  return *std::prev(at_least);
}

std::int64_t distance(Vec3 a, Vec3 b) { return std::abs(a.z - b.z) + std::abs(a.y - b.y) + std::abs(a.x - b.x); }

// Returns the nearest cube of one family of patches on one side of `wanted`.
std::optional<Vec3> nearest_cube(const AxisExtents& legal, Vec3 wanted, int rank, bool below) {
  std::vector<std::int64_t> edges;
  for (const std::int64_t edge : legal[2]) {
    const Vec3 n = cube_of(edge, rank);
    const auto has = [&](int axis) {
      const auto& along = legal[static_cast<std::size_t>(axis)];
      return std::binary_search(along.begin(), along.end(), n[axis]);
    };
    if (has(0) && has(1)) edges.push_back(edge);
  }
  const std::optional<std::int64_t> edge = nearest(edges, wanted.x, below);
  return edge ? std::optional(cube_of(*edge, rank)) : std::nullopt;
}

std::optional<Vec3> nearest_box(const AxisExtents& legal, Vec3 wanted, bool below) {
  Vec3 box;
  for (int axis = 0; axis < 3; ++axis) {
    const auto extent = nearest(legal[static_cast<std::size_t>(axis)], wanted[axis], below);
    if (!extent) return std::nullopt;
    box[axis] = *extent;
  }
  return box;
}

// Returns the nearest patch of all families, a cube if `wanted` is one; "" if there is none on that side.
std::string nearest_text(const std::vector<AxisExtents>& families, Vec3 wanted, int rank, bool below) {
  std::optional<Vec3> best;
  for (const AxisExtents& legal : families) {
    const auto found =
        is_cube(wanted, rank) ? nearest_cube(legal, wanted, rank, below) : nearest_box(legal, wanted, below);
    if (found && (!best || distance(*found, wanted) < distance(*best, wanted))) best = found;
  }
  if (!best) return "";
  return patch_flag(is_cube(*best, rank) ? Vec3::cube(best->x) : *best).substr(std::string("--patch ").size());
}

std::string with_other_pins(Pins pins) {
  pins.patch.reset();
  pins.theta.clear();
  return with_pins(pins);
}

Error no_patch(const Network& network, const SearchOptions& options) {
  const Vec3 wanted = *pinned_patch(options.pins, network.spatial_rank);
  const std::vector<AxisExtents> families = patch_extents(network, options);
  const std::string below = nearest_text(families, wanted, network.spatial_rank, true);
  const std::string above = nearest_text(families, wanted, network.spatial_rank, false);
  std::string fitting = below + (below.empty() || above.empty() ? "" : " and ") + above;
  if (fitting.empty()) fitting = "none";
  return wrong(patch_flag(*options.pins.patch) + ": no patch of " + network.name + with_other_pins(options.pins) +
               " reads " + to_string(wanted) + " voxels (its field of view is " +
               to_string(reaches(network).back().fov) + "); the nearest that fit: " + fitting);
}

}  // namespace

Result<void> check_pins(const Network& network, const SearchOptions& options) {
  const std::vector<PoolingMode>& modes = options.pins.modes;
  if (modes.empty()) return {};
  const std::string flag = modes_flag(modes);
  if (modes.size() != pooling_nodes(network).size()) {
    return wrong(flag + ": " + std::to_string(modes.size()) + (modes.size() == 1 ? " mode; " : " modes; ") +
                 poolings_text(network));
  }
  if (Result<void> allowed = check_allowed(modes, options); !allowed) return allowed.error().within(flag);
  if (Result<void> sound = check_modes(network, modes); !sound) return sound.error().within(flag);
  const Result<GeometryFamily> family = GeometryFamily::make(network, {{}, 1, modes});
  return family ? Result<void>() : family.error().within(flag);
}

Error no_candidate(const Network& network, const SearchOptions& options) {
  if (options.pins.patch) return no_patch(network, options);
  return wrong("field of view " + to_string(reaches(network).back().fov) + " of " + network.name +
               with_other_pins(options.pins) + " has no legal input extent up to " +
               std::to_string(options.max_extent));
}

}  // namespace znni
