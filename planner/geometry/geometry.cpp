#include "planner/geometry/geometry.hpp"

#include "planner/geometry/geometry_family.hpp"
#include "planner/network/network_reach.hpp"
#include "planner/network/swap_axes.hpp"
#include "primitives/core/index.hpp"

namespace znni {
namespace {

using Fragments3 = std::array<AxisFragments, 3>;

std::int64_t count_of(const AxisFragments& fragments) { return static_cast<std::int64_t>(fragments.offsets.size()); }

// Returns the extents that leave no rest in any value, and write a period at least.
std::vector<std::int64_t> strided_extents(const Network& network, int axis, std::int64_t most) {
  const std::int64_t step = period(network)[axis];
  const std::int64_t fov = reaches(network).back().fov[axis];
  std::vector<std::int64_t> extents;
  for (std::int64_t n = min_patch(network)[axis]; n <= most; n += step) {
    if (n - fov + 1 >= step) extents.push_back(n);
  }
  return extents;
}

}  // namespace

std::string to_string(const PoolingMode& mode) {
  if (mode.mode == PoolMode::plain) return "plain";
  if (mode.groups == Vec3::cube(1)) return "mpf";
  return "mpf:" + to_string(mode.groups) + (mode.held ? "" : ":recompute");
}

Result<Geometry> make_geometry(const Network& network, const GeometryChoice& choice) {
  const Result<GeometryFamily> family = GeometryFamily::make(network, choice);
  return family ? family->with_passes(choice.pass_input) : family.error();
}

Result<Geometry> make_part_geometry(const Network& part, const GeometryChoice& choice) {
  const Result<GeometryFamily> family = GeometryFamily::make_part(part, choice);
  return family ? family->with_passes(choice.pass_input) : family.error();
}

// Returns the legal extents along one axis. The extents n of a value, of stride P and largest fragment offset o, obey
//   pass_input = fov + P (n - 1) + o
// through every kind of node: a legal extent is one whose output has a whole, positive n.
std::vector<std::int64_t> legal_extents(const Network& network, const std::vector<PoolingMode>& modes, int axis,
                                        std::int64_t most) {
  if (!check_modes(network, modes)) return {};
  if (is_strided(network)) return strided_extents(network, axis, most);
  const Result<std::vector<AxisFragments>> fragments = axis_fragments(network, modes, axis, true);
  if (!fragments) return {};
  const AxisFragments& out = fragments->back();
  const std::int64_t least = reaches(network).back().fov[axis] + out.offsets.back();
  std::vector<std::int64_t> extents;
  for (std::int64_t extent = least; extent <= most; extent += out.stride) extents.push_back(extent);
  return extents;
}

Vec3 axes_to_close(const Network& network, const GeometryChoice& choice, Vec3 volume) {
  if (choice.stem_slab != 0) return {};
  const Vec3 whole = swap_axes(volume, choice.axis);
  const Vec3 padding = swap_axes(padded_axes(network), choice.axis);
  Vec3 closed;
  for (int axis = choice.streamed ? 1 : 0; axis < 3; ++axis) {
    closed[axis] = padding[axis] > 0 && choice.pass_input[axis] == whole[axis] ? 1 : 0;
  }
  if (closed == Vec3{}) return closed;
  const Network turned = swap_axes(network, choice.axis);
  return check_closed(turned, closed) ? axes_cut(close_axes(turned, closed)) : Vec3{};
}

std::size_t pass_count(const Geometry& geometry) {
  return geometry.passes.size() / static_cast<std::size_t>(geometry.phases);
}

std::int64_t written_voxels(const Geometry& geometry) {
  const Vec3 owned = geometry.patch_output / geometry.period * geometry.period;
  return mul(geometry.choice.S, voxels(owned) / geometry.phases);
}

std::int64_t runs_of(const Geometry& geometry, int node) {
  return node < 0 ? geometry.windows : geometry.runs[index(node)];
}

Shape5 tensor_shape(const Geometry& geometry, int value) {
  const Border around = around_written(geometry, value);
  Shape5 shape = geometry.values[index(value)];
  shape.n = shape.n + around.begin + around.end;
  return shape;
}

Border around_written(const Geometry& geometry, int value) {
  Border around = margin_of(geometry.closed, value);
  around.begin.z += geometry.histories.kept[index(value)];
  return around;
}

Border around_read(const Geometry& geometry, int node, int input, int value) {
  Border around = around_written(geometry, value);
  const Border read = read_beyond(geometry.closed, node, input, value);
  around = {around.begin - read.begin, around.end - read.end};
  if (input == 0) around.begin.z -= geometry.histories.read[index(node)];
  return around;
}

std::int64_t history_runs(const Geometry& geometry, int value) {
  return value <= geometry.stem.last + 1 ? geometry.windows : geometry.runs[index(value) - 1];
}

std::int64_t history_bytes(const Geometry& geometry, int value, Format format) {
  Shape5 shape = tensor_shape(geometry, value);
  shape.n.z = geometry.histories.kept[index(value)];
  return mul(history_runs(geometry, value), tensor_bytes(shape, format));
}

Vec3 dense_position(const Geometry& geometry, std::size_t pass, std::int64_t fragment, Vec3 v) {
  const Fragments3& all = geometry.fragments;
  const Vec3 place = fragment_at(fragment, {count_of(all[0]), count_of(all[1]), count_of(all[2])});
  Vec3 position = geometry.passes[pass].offset;
  for (int axis = 0; axis < 3; ++axis) {
    const AxisFragments& own = all[index(axis)];
    position[axis] += own.stride * v[axis] + own.offsets[static_cast<std::size_t>(place[axis])];
  }
  return position;
}

}  // namespace znni
