#include "planner/search/candidate_modes.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "planner/geometry/streams.hpp"

namespace znni {
namespace {

constexpr std::size_t all_combinations_up_to = 4;
constexpr std::size_t poolings_across = 2;  // of a stream, whose fragments may be computed again for each group

// Returns the groups of fragments of one pooling, from few large to many small: along z first, so that rows stay whole.
std::vector<Vec3> splits(Vec3 stride) {
  std::vector<Vec3> all;
  Vec3 groups = Vec3::cube(1);
  for (int axis = 0; axis < 3; ++axis) {
    for (groups[axis] = 2; groups[axis] <= stride[axis]; ++groups[axis]) {
      if (stride[axis] % groups[axis] == 0) all.push_back(groups);
    }
    groups[axis] = stride[axis];
  }
  return all;
}

void add_plain(std::size_t poolings, std::set<Modes>& all) {
  const bool prefixes_only = poolings > all_combinations_up_to;
  const std::size_t count = prefixes_only ? poolings + 1 : std::size_t{1} << poolings;
  for (std::size_t choice = 0; choice < count; ++choice) {
    Modes modes(poolings, PoolMode::fragments);
    for (std::size_t i = 0; i < poolings; ++i) {
      const bool plain = prefixes_only ? i < choice : ((choice >> i) & 1) != 0;
      if (plain) modes[i] = PoolMode::plain;
    }
    all.insert(std::move(modes));
  }
}

// Adds every way to split each pooling's fragments with the input held; for the first pooling also with the net run
// again for each group.
void add_groups(const std::vector<Vec3>& strides, std::size_t pooling, Modes& modes, std::set<Modes>& all) {
  if (pooling == strides.size()) {
    all.insert(modes);
    return;
  }
  const bool alone = strides.size() > all_combinations_up_to;
  modes[pooling] = PoolMode::fragments;
  add_groups(strides, pooling + 1, modes, all);
  for (const Vec3 groups : splits(strides[pooling])) {
    for (const bool held : {true, false}) {
      if (!held && (pooling > 0 || groups == strides[pooling])) continue;
      modes[pooling] = {groups, held};
      if (alone) all.insert(modes);
      if (!alone) add_groups(strides, pooling + 1, modes, all);
    }
  }
  modes[pooling] = PoolMode::fragments;
}

std::vector<Vec3> pooling_strides(const Network& network) {
  std::vector<Vec3> strides;
  for (const int node : pooling_nodes(network)) {
    strides.push_back(std::get<Pooling>(network.nodes[static_cast<std::size_t>(node)].operation).stride);
  }
  return strides;
}

}  // namespace

std::vector<Modes> patch_modes(const Network& network, Strategy strategy) {
  const std::vector<Vec3> strides = pooling_strides(network);
  if (strategy == Strategy::baseline) return {Modes(strides.size(), PoolMode::plain)};
  std::set<Modes> all;
  Modes modes(strides.size());
  add_plain(strides.size(), all);
  if (strategy != Strategy::layerwise) add_groups(strides, 0, modes, all);
  return {all.begin(), all.end()};
}

std::int64_t repeats(const Modes& modes) {
  std::int64_t sum = 0;
  for (const PoolingMode& mode : modes) {
    if (mode.mode == PoolMode::plain) sum += 100;
    sum += (mode.held ? 1 : 10) * (voxels(mode.groups) - 1);
  }
  return sum;
}

bool in_groups(const Modes& modes) {
  return std::any_of(modes.begin(), modes.end(), [](const PoolingMode& m) { return m.groups != Vec3::cube(1); });
}

std::vector<Modes> stream_modes(const Network& network) {
  const std::vector<Vec3> strides = pooling_strides(network);
  std::vector<Modes> all = {Modes(strides.size())};
  if (strides.empty()) return all;
  for (const Vec3 groups : splits(strides.front())) {
    all.emplace_back(strides.size());
    all.back().front() = {groups, true};
  }
  Modes modes(strides.size());
  for (std::size_t i = 0; i < std::min(strides.size(), poolings_across); ++i) {
    for (const Vec3 groups : splits({1, strides[i].y, strides[i].x})) {
      modes[i] = {groups, false};
      all.push_back(modes);
    }
  }
  return all;
}

std::vector<Modes> modes_of_patches(const Network& network, const SearchOptions& options) {
  if (!options.pins.modes.empty()) return {options.pins.modes};
  std::vector<Modes> all = patch_modes(network, options.strategy);
  if (!options.pins.groups) std::erase_if(all, in_groups);
  std::stable_sort(all.begin(), all.end(), [](const Modes& a, const Modes& b) { return repeats(a) < repeats(b); });
  return all;
}

std::vector<Modes> modes_of_streams(const Network& network, const SearchOptions& options) {
  std::vector<Modes> all =
      options.pins.modes.empty() ? stream_modes(network) : std::vector<Modes>(1, options.pins.modes);
  if (!options.pins.groups) std::erase_if(all, in_groups);
  std::erase_if(all, [&](const Modes& modes) { return !can_stream(network, modes); });
  return all;
}

}  // namespace znni
