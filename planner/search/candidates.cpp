#include "planner/search/candidates.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "planner/base/subsample.hpp"
#include "planner/geometry/geometry_family.hpp"
#include "planner/geometry/streams.hpp"
#include "planner/network/swap_axes.hpp"
#include "planner/search/candidate_modes.hpp"
#include "planner/search/extent_combinations.hpp"
#include "planner/search/window_candidates.hpp"

namespace znni {
namespace {

using Extents = AxisExtents;

constexpr std::int64_t max_parts = 8;
constexpr std::size_t max_cubes = 192;
constexpr std::int64_t min_share = 64;  // patches of one combination of modes
constexpr std::int64_t share_in_groups = 128;
constexpr std::int64_t share_of_streams = 512;
constexpr double between_squares = 1.04;
constexpr std::int64_t max_separate_planes = 8;
constexpr std::int64_t max_near = 3;  // neighbours of a patch to either side, along each axis
constexpr std::array<std::int64_t, 15> thicknesses = {1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32};

bool stopped(const SearchOptions& options) { return options.stop && options.stop(); }

// Returns a number of planes of which the new planes of a step are a multiple.
std::int64_t plane_step(const Network& network) {
  return std::max(reaches(network).back().stride.z, period(network).z);
}

// Returns the most planes of a patch, or new ones of a step. If planes are independent, thick patches would gain
// nothing, and hold more of a volume and of its output.
std::int64_t max_planes(const Network& network, std::int64_t most) {
  const Reach reach = reaches(network).back();
  const bool separate = reach.fov.z == 1 && plane_step(network) == 1;
  return separate ? std::min(most, max_separate_planes) : most;
}

// Returns the legal extents per axis; `shift` is patch_input - pass_input. Stops at the first that covers the volume.
// For a pinned patch it returns its own extents alone.
Extents legal(const Network& network, const Modes& modes, const SearchOptions& options, Vec3 shift) {
  Extents extents;
  const std::optional<Vec3> pinned = pinned_patch(options.pins, network.spatial_rank);
  for (int axis = 0; axis < 3; ++axis) {
    auto& list = extents[static_cast<std::size_t>(axis)];
    const std::int64_t most = (pinned ? (*pinned)[axis] : options.max_extent) - shift[axis];
    list = legal_extents(network, modes, axis, axis == 0 && !pinned ? max_planes(network, most) : most);
    if (axis < 3 - network.spatial_rank && !list.empty()) list.resize(1);
    if (pinned) std::erase_if(list, [&](std::int64_t n) { return n != most; });
    if (pinned || !options.volume) continue;
    const auto covering = std::lower_bound(list.begin(), list.end(), (*options.volume)[axis] - shift[axis]);
    if (covering != list.end()) list.erase(covering + 1, list.end());
  }
  return extents;
}

// Returns the smallest legal extents whose patches cut the volume's output into 1 to `most` equal parts; the largest if
// all of them cut it into more.
Extents cut_volume(const Extents& extents, Vec3 volume, Vec3 fov, Vec3 shift, std::int64_t most) {
  Extents cut;
  for (int axis = 0; axis < 3; ++axis) {
    const auto& list = extents[static_cast<std::size_t>(axis)];
    std::set<std::int64_t> chosen;
    for (std::int64_t parts = 1; parts <= most; ++parts) {
      const std::int64_t part = div_up(volume[axis] - fov[axis] + 1, parts);
      const auto found = std::lower_bound(list.begin(), list.end(), part + fov[axis] - 1 - shift[axis]);
      if (found != list.end()) chosen.insert(*found);
    }
    if (chosen.empty() && !list.empty()) chosen.insert(list.back());  // planes that stay apart are never so many
    cut[static_cast<std::size_t>(axis)].assign(chosen.begin(), chosen.end());
  }
  return cut;
}

// Chooses extents for modes in groups, which are many: cubes, and extents that cut a volume.
std::set<Vec3> choose_few_extents(const Extents& extents, const SearchOptions& options, Vec3 fov, Vec3 shift) {
  ExtentCombinations combinations;
  combinations.add_cubes(extents, max_cubes, false);
  if (options.volume) combinations.add_all(cut_volume(extents, *options.volume, fov, shift, max_parts / 2));
  return combinations.found();
}

std::set<Vec3> choose_extents(const Extents& extents, const SearchOptions& options, Vec3 fov, Vec3 shift,
                              std::int64_t share, bool smallest_S) {
  ExtentCombinations combinations;
  if (options.every_extent || combination_count(extents) <= share) {
    combinations.add_all(extents);
    return combinations.found();
  }
  combinations.add_cubes(extents, smallest_S ? max_cubes : max_cubes / 4, smallest_S);
  if (!smallest_S) return combinations.found();
  if (options.volume) combinations.add_all(cut_volume(extents, *options.volume, fov, shift, max_parts));
  combinations.add_all(ladder(extents, share / 3));
  const bool few_planes = std::ssize(extents[0]) <= max_separate_planes;
  if (few_planes) combinations.add_all({extents[0], halved(extents[1]), halved(extents[2])});
  return combinations.found();
}

// Returns how far extents of patches exceed those of a pass, the same for all extents of the same modes. The smallest
// geometry of the modes tells; nothing if the modes do not go together.
std::optional<Vec3> patch_shift(const Network& network, const Modes& modes, std::int64_t most) {
  Vec3 smallest;
  for (int axis = 0; axis < 3; ++axis) {
    const std::vector<std::int64_t> extents = legal_extents(network, modes, axis, most);
    if (extents.empty()) return std::nullopt;
    smallest[axis] = extents.front();
  }
  const Result<Geometry> geometry = make_geometry(network, {smallest, 1, modes});
  if (!geometry) return std::nullopt;
  return geometry->patch_input - smallest;
}

// Returns the extents of streams: along z new planes a step, as far as a patch of as many would reach; along y and x
// legal extents.
Extents stream_extents(const Network& network, const Modes& modes, const SearchOptions& options, Vec3 shift) {
  Extents extents = legal(network, modes, options, shift);
  const Reach reach = reaches(network).back();
  std::int64_t most = max_planes(network, options.max_extent - reach.fov.z + 1);
  const std::int64_t step = plane_step(network);
  if (options.volume) most = std::min(most, round_up(options.volume->z, step));
  extents[0].clear();
  const std::optional<Vec3> pinned = pinned_patch(options.pins, network.spatial_rank);
  const std::int64_t pinned_planes = pinned ? pinned->z - reach.fov.z + 1 : 0;
  if (pinned) most = pinned_planes;
  for (std::int64_t planes = step; planes <= most; planes += step) {
    if (!pinned || planes == pinned_planes) extents[0].push_back(planes);
  }
  return extents;
}

// Adds the squares of every thickness as far as each axis goes, each a little larger than the one before.
void add_squares(const Extents& extents, ExtentCombinations& combinations) {
  std::set<std::int64_t> edges(extents[1].begin(), extents[1].end());
  edges.insert(extents[2].begin(), extents[2].end());
  double least = 0;
  for (const std::int64_t edge : edges) {
    if (static_cast<double>(edge) < least && edge != *edges.rbegin()) continue;
    least = between_squares * static_cast<double>(edge);
    for (const std::int64_t z : extents[0]) combinations.add(z, fitted(extents[1], edge), fitted(extents[2], edge));
  }
}

std::set<Vec3> choose_streams(const Network& network, Extents extents, const SearchOptions& options, Vec3 shift) {
  ExtentCombinations combinations;
  if (options.every_extent || combination_count(extents) <= share_of_streams) {
    combinations.add_all(extents);
    return combinations.found();
  }
  std::vector<std::int64_t> planes;
  for (const std::int64_t strides : thicknesses) {
    if (strides <= static_cast<std::int64_t>(extents[0].size())) planes.push_back(strides * extents[0].front());
  }
  extents[0] = planes;
  add_squares(extents, combinations);
  if (!options.volume) return combinations.found();
  Extents cut = cut_volume(extents, *options.volume, reaches(network).back().fov, shift, max_parts / 2);
  cut[0] = planes;
  combinations.add_all(cut);
  return combinations.found();
}

// Adds each extent, and again with its stem in slabs if that is possible and makes more than one slab.
void add_ordered(const Network& network, const std::set<Vec3>& extents, const GeometryChoice& like,
                 const SearchOptions& options, std::vector<GeometryChoice>& candidates) {
  std::vector<Vec3> ordered(extents.begin(), extents.end());
  std::sort(ordered.begin(), ordered.end(),
            [](Vec3 a, Vec3 b) { return std::pair(voxels(a), a) > std::pair(voxels(b), b); });
  GeometryChoice in_slabs = like;
  const bool has_slabs = options.strategy != Strategy::layerwise && options.pins.groups;
  const std::int64_t stem_slab = has_slabs ? options.stem_slab : 0;
  in_slabs.stem_slab = stem_slab;
  const Result<GeometryFamily> family = GeometryFamily::make(network, in_slabs);
  for (const Vec3 pass_input : ordered) {
    candidates.push_back(like);
    candidates.back().pass_input = pass_input;
    if (options.volume) candidates.back().closed = axes_to_close(network, candidates.back(), *options.volume);
    if (stem_slab == 0 || !family || stopped(options) || !family->at(pass_input)) continue;
    candidates.push_back(in_slabs);
    candidates.back().pass_input = pass_input;
  }
}

// Returns options for the volume with its axes swapped.
SearchOptions swapped_options(SearchOptions options, int axis) {
  if (options.volume) options.volume = swap_axes(*options.volume, axis);
  options.pins = swap_axes(std::move(options.pins), axis);
  return options;
}

// Extends the options as far as a pinned patch, which may be larger than the candidates of a search.
SearchOptions as_far_as_pinned(SearchOptions options) {
  if (const std::optional<Vec3>& patch = options.pins.patch) {
    options.max_extent = std::max({options.max_extent, patch->z, patch->y, patch->x});
  }
  return options;
}

// Returns about how many patches of each of so many combinations of modes are looked at: at most 12 % of all.
std::int64_t share_of(std::int64_t modes, const SearchOptions& options) {
  const std::int64_t most = std::max(min_share, mul(options.max_patches, 12) / 100);
  return std::clamp(options.max_patches / std::max<std::int64_t>(1, modes), min_share, most);
}

std::vector<std::int64_t> batches_of(const SearchOptions& options) {
  if (options.pins.S) return {*options.pins.S};
  std::vector<std::int64_t> batches;
  for (std::int64_t S = 1; S <= std::max<std::int64_t>(1, options.max_S); S *= 2) batches.push_back(S);
  return batches;
}

void add_streams_along(int axis, const Network& network, const SearchOptions& options,
                       std::vector<GeometryChoice>& candidates) {
  const Network turned = swap_axes(network, axis);
  const SearchOptions turned_options = swapped_options(options, axis);
  for (const Modes& modes : modes_of_streams(turned, turned_options)) {
    if (stopped(options)) break;
    const std::optional<Vec3> shift = patch_shift(turned, modes, options.max_extent);
    if (!shift) continue;
    const Extents extents = stream_extents(turned, modes, turned_options, *shift);
    if (combination_count(extents) == 0) continue;
    const GeometryChoice like{{}, 1, modes, 0, true, axis};
    add_ordered(network, choose_streams(turned, extents, turned_options, *shift), like, options, candidates);
  }
}

// Returns the axes of streams, for nets of three axes, because those of fewer have one plane. y and x count if they
// differ from z.
std::vector<int> stream_axes(const Network& network, const SearchOptions& options) {
  const bool is_allowed = options.strategy == Strategy::cpu && options.pins.streams && options.pins.S.value_or(1) == 1;
  if (!is_allowed || network.spatial_rank < 3) return {};
  std::vector<int> axes = {0};
  if (!can_swap_axes(network)) return axes;
  for (int axis = 1; axis < 3; ++axis) {
    const SearchOptions turned = swapped_options(options, axis);
    const bool same = swap_axes(network, axis) == network && turned.volume == options.volume;
    if (!same || turned.pins != options.pins) axes.push_back(axis);
  }
  return axes;
}

// Returns options without the pinned patch that reach as far as it and a little further.
SearchOptions some_strides_beyond_pinned(const Network& network, const SearchOptions& asked_for) {
  SearchOptions options = as_far_as_pinned(asked_for);
  const Reach reach = reaches(network).back();
  options.max_extent = std::max({options.max_extent, reach.fov.z, reach.fov.y, reach.fov.x});
  const Vec3 step = max(reach.stride, period(network));
  options.max_extent += 2 * std::max({step.z, step.y, step.x});
  options.pins.patch.reset();
  options.volume.reset();
  return options;
}

// Adds the extents that patches, or steps of a stream, of these modes may read along each axis.
void add_inputs(const Network& network, const Modes& modes, const SearchOptions& options, bool streamed,
                std::vector<AxisExtents>& families) {
  std::optional<Vec3> beyond = patch_shift(network, modes, options.max_extent);
  if (!beyond) return;
  Extents extents =
      streamed ? stream_extents(network, modes, options, *beyond) : legal(network, modes, options, *beyond);
  if (streamed) beyond->z = reaches(network).back().fov.z - 1;
  for (int axis = 0; axis < 3; ++axis) {
    for (std::int64_t& n : extents[static_cast<std::size_t>(axis)]) n += (*beyond)[axis];
  }
  families.push_back(std::move(extents));
}

// Returns the legal choices that differ from `choice` in these extents alone, without `choice` itself.
std::vector<GeometryChoice> with_extents(const Network& network, const SearchOptions& options,
                                         const GeometryChoice& choice, const std::set<Vec3>& extents) {
  std::map<Vec3, Result<GeometryFamily>> families;  // by closed axes
  std::vector<GeometryChoice> neighbours;
  GeometryChoice neighbour = choice;
  for (const Vec3 pass_input : extents) {
    neighbour.pass_input = pass_input;
    if (options.volume) neighbour.closed = axes_to_close(network, neighbour, *options.volume);
    auto family = families.find(neighbour.closed);
    if (family == families.end()) {
      family = families.emplace(neighbour.closed, GeometryFamily::make(network, neighbour)).first;
    }
    ensure(family->second.has_value(), "a choice of a legal family");
    if (neighbour != choice && family->second->at(pass_input)) neighbours.push_back(neighbour);
  }
  return neighbours;
}

std::vector<GeometryChoice> near_streams(const Network& network, const SearchOptions& options,
                                         const GeometryChoice& choice) {
  const Network turned = swap_axes(network, choice.axis);
  const std::optional<Vec3> shift = patch_shift(turned, choice.modes, options.max_extent);
  ensure(shift.has_value(), "a choice of legal modes");
  const std::int64_t thickness = 2 * plane_step(turned);
  Extents near = stream_extents(turned, choice.modes, swapped_options(options, choice.axis), *shift);
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t own = choice.pass_input[axis];
    const std::int64_t less = axis == 0 ? thickness : 0;
    const std::int64_t more = axis == 0 ? thickness : own / 25;  // the 4 % between squares
    std::erase_if(near[static_cast<std::size_t>(axis)], [&](auto n) { return n < own - less || n > own + more; });
  }
  ExtentCombinations combinations;
  combinations.add_all(near);
  return with_extents(network, options, choice, combinations.found());
}

std::vector<GeometryChoice> near_patches(const Network& network, const SearchOptions& options,
                                         const GeometryChoice& choice) {
  const std::optional<Vec3> shift = patch_shift(network, choice.modes, options.max_extent);
  ensure(shift.has_value(), "a choice of legal modes");
  const Extents all = legal(network, choice.modes, options, *shift);
  Extents near;
  Extents own;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t here = choice.pass_input[static_cast<int>(axis)];
    near[axis] = around(all[axis], here, max_near);
    own[axis] = {here};
  }
  ExtentCombinations combinations;
  combinations.add_all(near);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    Extents along = own;
    along[axis] = all[axis];
    combinations.add_all(along);
  }
  return with_extents(network, options, choice, combinations.found());
}

}  // namespace

std::vector<GeometryChoice> make_candidates(const Network& network, const SearchOptions& asked_for) {
  if (is_tile_bound(network)) return window_candidates(network, asked_for);
  const SearchOptions options = as_far_as_pinned(asked_for);
  const std::vector<Modes> all_modes = modes_of_patches(network, options);
  const std::vector<std::int64_t> batches = batches_of(options);
  const bool few_modes = !options.pins.modes.empty();
  const auto whole = std::count_if(all_modes.begin(), all_modes.end(), [](const Modes& m) { return !in_groups(m); });
  const std::int64_t share = share_of(whole, options);
  const Vec3 fov = reaches(network).back().fov;
  std::vector<GeometryChoice> candidates;
  for (const int axis : stream_axes(network, options)) add_streams_along(axis, network, options, candidates);
  for (const Modes& modes : all_modes) {
    if (stopped(options)) break;
    const std::optional<Vec3> shift = patch_shift(network, modes, options.max_extent);
    if (!shift) continue;
    const Extents extents = legal(network, modes, options, *shift);
    if (combination_count(extents) == 0) continue;
    for (const std::int64_t S : batches) {
      const bool few =
          !few_modes && !options.every_extent && in_groups(modes) && combination_count(extents) > share_in_groups;
      if (S != batches.front() && few) break;
      const std::set<Vec3> chosen = few ? choose_few_extents(extents, options, fov, *shift)
                                        : choose_extents(extents, options, fov, *shift, share, S == batches.front());
      add_ordered(network, chosen, {{}, S, modes}, options, candidates);
    }
  }
  return candidates;
}

std::vector<AxisExtents> patch_extents(const Network& network, const SearchOptions& options) {
  const SearchOptions free = some_strides_beyond_pinned(network, options);
  std::vector<AxisExtents> families;
  for (const Modes& modes : modes_of_patches(network, free)) add_inputs(network, modes, free, false, families);
  for (const int axis : stream_axes(network, options)) {
    const Network turned = swap_axes(network, axis);
    const SearchOptions turned_options = swapped_options(free, axis);
    const std::size_t first = families.size();
    for (const Modes& modes : modes_of_streams(turned, turned_options)) {
      add_inputs(turned, modes, turned_options, true, families);
    }
    for (std::size_t i = first; i < families.size(); ++i) {
      std::swap(families[i][0], families[i][static_cast<std::size_t>(axis)]);
    }
  }
  return families;
}

std::vector<GeometryChoice> make_neighbours(const Network& network, const SearchOptions& options,
                                            const GeometryChoice& choice) {
  if (options.pins.patch || is_tile_bound(network)) return {};
  return choice.streamed ? near_streams(network, options, choice) : near_patches(network, options, choice);
}

}  // namespace znni
