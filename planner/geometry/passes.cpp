#include "planner/geometry/passes.hpp"

#include <algorithm>
#include <string>

#include "primitives/core/index.hpp"

namespace znni {
namespace {

constexpr std::int64_t max_passes = std::int64_t{1} << 16;

using Fragments3 = std::array<AxisFragments, 3>;

// Shifts that, added to every fragment's offset, give each number in [0, stride) once. Offsets are sums of
// mixed-radix digits, one per pooling; the shifts are the sums of the digits that plain poolings kept at 0.
// They follow from the offsets alone: the lowest number not yet given must be a shift.
std::vector<std::int64_t> missing_shifts(const AxisFragments& fragments) {
  std::vector<bool> given(static_cast<std::size_t>(fragments.stride), false);
  std::vector<std::int64_t> shifts;
  for (std::int64_t shift = 0; shift < fragments.stride; ++shift) {
    if (given[static_cast<std::size_t>(shift)]) continue;
    shifts.push_back(shift);
    for (const std::int64_t offset : fragments.offsets) given[static_cast<std::size_t>(shift + offset)] = true;
  }
  return shifts;
}

using Offsets = std::array<std::vector<std::int64_t>, 3>;

std::vector<Vec3> combinations(const Offsets& along) {
  std::vector<Vec3> all;
  for (const std::int64_t z : along[0]) {
    for (const std::int64_t y : along[1]) {
      for (const std::int64_t x : along[2]) all.push_back({z, y, x});
    }
  }
  return all;
}

// A pooling that holds its input, and where its groups begin.
struct Held {
  int node = 0;
  Vec3 stride;               // of the dense grid per voxel of its input
  std::vector<Vec3> begins;  // in voxels of its input
};

// Checks that nothing but the held input is alive at the node where passes begin again.
Result<void> check_alone(const Network& network, int node) {
  const std::vector<int> last = last_readers(network);
  const auto read_later = [&](int reader) { return reader > node; };
  if (std::none_of(last.begin(), last.begin() + node + 1, read_later)) return {};
  return Error{ErrorCode::unsupported, "node " + network.nodes[index(node)].name +
                                           ": its fragments cannot be made in groups that hold their input, for " +
                                           "other values are read after it"};
}

std::vector<std::int64_t> multiples(std::int64_t step, std::int64_t count) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(i * step);
  return all;
}

// Passes per patch, before any of them is laid out: a stride may be thousands per axis.
Result<void> check_count(const Vec3& windows, const std::vector<PoolingMode>& modes) {
  std::int64_t count = voxels(windows);
  for (const PoolingMode& mode : modes) {
    if (mode.holds()) count = mul(count, voxels(mode.groups));
  }
  if (count <= max_passes) return {};
  return Error{ErrorCode::unsupported, "the poolings need " + std::to_string(count) + " passes per patch, " +
                                           to_string(windows) + " windows; the limit is " + std::to_string(max_passes)};
}

Result<std::vector<Held>> held_poolings(const Network& network, const std::vector<PoolingMode>& modes) {
  const std::vector<int> poolings = pooling_nodes(network);
  const std::vector<Reach> reach = reaches(network);
  std::vector<Held> held;
  for (std::size_t i = 0; i < poolings.size(); ++i) {
    if (!modes[i].holds()) continue;
    if (Result<void> alone = check_alone(network, poolings[i]); !alone) return alone.error();
    const Node& node = network.nodes[index(poolings[i])];
    const Vec3 stride = std::get<Pooling>(node.operation).stride;
    Offsets begins;
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t groups = modes[i].groups[axis];
      begins[index(axis)] = multiples(stride[axis] / groups, groups);
    }
    held.push_back({poolings[i], reach[index(node.inputs.front())].stride, combinations(begins)});
  }
  return held;
}

// Adds a pass for every group of each held pooling; those of the last pooling change fastest.
void add_passes(Vec3 shift, const std::vector<Held>& held, std::vector<Pass>& passes) {
  Pass pass{shift, shift, -1, std::vector<Vec3>(held.size())};
  std::vector<std::size_t> group(held.size(), 0);
  for (;;) {
    pass.offset = shift;
    for (std::size_t i = 0; i < held.size(); ++i) {
      pass.begins[i] = held[i].begins[group[i]];
      pass.offset = pass.offset + held[i].stride * pass.begins[i];
    }
    passes.push_back(pass);
    std::size_t next = held.size();
    while (next > 0 && ++group[next - 1] == held[next - 1].begins.size()) group[--next] = 0;
    if (next == 0) return;
    pass.first_node = held[next - 1].node;
  }
}

Offsets window_begins(const Fragments3& fragments) {
  Offsets shifts;
  for (int axis = 0; axis < 3; ++axis) shifts[index(axis)] = missing_shifts(fragments[index(axis)]);
  return shifts;
}

Vec3 counts_of(const Offsets& along) {
  const auto count = [&](std::size_t axis) { return static_cast<std::int64_t>(along[axis].size()); };
  return {count(0), count(1), count(2)};
}

}  // namespace

Result<void> count_passes(const Network& network, const Fragments3& whole, Geometry& geometry) {
  const Vec3 windows = counts_of(window_begins(whole));
  if (Result<void> few = check_count(windows, geometry.choice.modes); !few) return few;
  const Result<std::vector<Held>> held = held_poolings(network, geometry.choice.modes);
  if (!held) return held.error();
  (geometry.choice.streamed ? geometry.phases : geometry.windows) = voxels(windows);
  geometry.runs.assign(network.nodes.size(), geometry.windows);
  for (const Held& pooling : *held) {
    geometry.held.push_back(pooling.node);
    for (std::size_t node = index(pooling.node); node < geometry.runs.size(); ++node) {
      geometry.runs[node] = mul(geometry.runs[node], static_cast<std::int64_t>(pooling.begins.size()));
    }
  }
  return {};
}

Vec3 last_shift(const Fragments3& whole) {
  const Offsets begins = window_begins(whole);
  return {begins[0].back(), begins[1].back(), begins[2].back()};
}

Result<void> lay_passes(const Network& network, const Fragments3& whole, Geometry& geometry) {
  const Offsets begins = window_begins(whole);
  if (Result<void> few = check_count(counts_of(begins), geometry.choice.modes); !few) return few;
  const Result<std::vector<Held>> held = held_poolings(network, geometry.choice.modes);
  if (!held) return held.error();
  for (const Vec3 shift : combinations(begins)) add_passes(shift, *held, geometry.passes);
  return {};
}

}  // namespace znni
