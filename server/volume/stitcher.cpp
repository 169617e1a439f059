#include "server/volume/stitcher.hpp"

#include <algorithm>
#include <cstdint>

#include "planner/network/swap_axes.hpp"
#include "server/volume/element.hpp"

namespace znni {
namespace {

// Below this, waking the workers costs more than it saves.
constexpr std::int64_t min_shared_voxels = 1 << 16;

std::vector<std::int64_t> fragment_of_residue(const AxisFragments& axis) {
  std::vector<std::int64_t> table(static_cast<std::size_t>(axis.stride), -1);
  for (std::size_t i = 0; i < axis.offsets.size(); ++i) {
    ensure(axis.offsets[i] < axis.stride, "offsets of fragments lie below their stride");
    table[static_cast<std::size_t>(axis.offsets[i])] = static_cast<std::int64_t>(i);
  }
  return table;
}

std::int64_t size(const AxisFragments& axis) { return static_cast<std::int64_t>(axis.offsets.size()); }

// Returns the elements from the begin of a slab to voxel `position` (planes counted from the slab's first) of channel
// j.
std::int64_t element_at(const OutputSlab& slab, std::int64_t j, Vec3 position) {
  const VolumeShape& shape = slab.shape;
  return j * channel_stride(shape) + position.z * plane_stride(shape) + position.y * shape.n.x + position.x;
}

}  // namespace

Stitcher::Stitcher(const Geometry& geometry)
    : axis_(geometry.choice.axis),
      fragments_(geometry.fragments),
      counts_{size(fragments_[0]), size(fragments_[1]), size(fragments_[2])} {
  for (const Pass& pass : geometry.passes) offsets_.push_back(pass.offset);
  for (std::size_t axis = 0; axis < 3; ++axis) fragment_of_residue_[axis] = fragment_of_residue(fragments_[axis]);
}

Stitcher::Source Stitcher::source(int axis, std::size_t pass, std::int64_t dense) const {
  const std::int64_t position = dense - offsets_[pass][axis];
  if (position < 0) return {};
  const auto index = static_cast<std::size_t>(axis);
  const std::int64_t stride = fragments_[index].stride;
  return {fragment_of_residue_[index][static_cast<std::size_t>(position % stride)], position / stride};
}

void Stitcher::stitch(std::size_t pass, const TensorView& out, std::span<const StitchTarget> targets,
                      Executor& executor) const {
  ensure(out.shape.S == static_cast<std::int64_t>(targets.size()) * voxels(counts_), "a target for every patch");
  std::int64_t planes = 0;
  for (const StitchTarget& target : targets) {
    planes = std::max(planes, target.patch.own_last.z - target.patch.own_first.z);
  }
  const std::int64_t f_out = out.shape.f;
  const auto task = [&](std::int64_t index, int) {
    const std::int64_t s = index / (planes * f_out);
    const StitchTarget& target = targets[static_cast<std::size_t>(s)];
    const std::int64_t z = target.patch.own_first.z + index % planes;
    if (z < target.patch.own_last.z) stitch_plane(pass, out, s, index / planes % f_out, z, target);
  };
  const std::int64_t count = static_cast<std::int64_t>(targets.size()) * f_out * planes;
  if (elements(out.shape) >= min_shared_voxels) return executor.parallel_for(count, task);
  for (std::int64_t index = 0; index < count; ++index) task(index, 0);
}

std::optional<TensorView> Stitcher::output_in_place(const Shape5& out, std::span<const StitchTarget> targets) const {
  const auto is_strided = [](const AxisFragments& axis) { return axis.stride != 1; };
  const bool is_dense = std::none_of(fragments_.begin(), fragments_.end(), is_strided);
  if (!is_dense || offsets_.size() != 1 || targets.size() != 1 || axis_ != 0) return std::nullopt;
  const GridPatch& patch = targets.front().patch;
  const OutputSlab& slab = targets.front().slab;
  const bool is_whole = patch.own_first == Vec3{} && patch.own_last == out.n;
  const bool has_floats = reinterpret_cast<std::uintptr_t>(slab.data) % alignof(float) == 0;
  if (!is_whole || slab.shape.type != ElementType::f32 || !has_floats) return std::nullopt;
  const std::int64_t first = element_at(slab, 0, patch.start - Vec3{slab.first_plane, 0, 0});
  const VolumeShape& shape = slab.shape;
  const Strides strides{shape.f * voxels(shape.n), channel_stride(shape), plane_stride(shape), shape.n.x, 1};
  return TensorView{reinterpret_cast<float*>(slab.data) + first, out, {}, strides};
}

void Stitcher::stitch_plane(std::size_t pass, const TensorView& out, std::int64_t s, std::int64_t j,
                            std::int64_t dense_z, const StitchTarget& target) const {
  const Source z = source(0, pass, dense_z);
  if (z.fragment < 0) return;
  const GridPatch& patch = target.patch;
  for (std::int64_t dense_y = patch.own_first.y; dense_y < patch.own_last.y; ++dense_y) {
    const Source y = source(1, pass, dense_y);
    if (y.fragment < 0) continue;
    ensure(z.v < out.shape.n.z && y.v < out.shape.n.y, "a pass computes what its geometry promises");
    Vec3 position = swap_axes(patch.start + Vec3{dense_z, dense_y, 0}, axis_);
    position.z -= target.slab.first_plane;
    const float* row = out.channel(s * voxels(counts_), j) + z.v * out.strides.z + y.v * out.strides.y;
    stitch_row(pass, row, out, {z.fragment, y.fragment, 0}, target, element_at(target.slab, j, position));
  }
}

// Stitches a row. `row`: the row of the patch's first fragment; `to`: the element of the patch's dense x = 0, counted
// from the slab's begin, and before it if the slab begins within the patch.
void Stitcher::stitch_row(std::size_t pass, const float* row, const TensorView& out, Vec3 fragment,
                          const StitchTarget& target, std::int64_t to) const {
  const ElementType type = target.slab.shape.type;
  const std::int64_t step = axis_ == 2 ? plane_stride(target.slab.shape) : 1;
  const std::int64_t stride = fragments_[2].stride;
  for (fragment.x = 0; fragment.x < counts_.x; ++fragment.x) {
    const std::int64_t begin = offsets_[pass].x + fragments_[2].offsets[static_cast<std::size_t>(fragment.x)];
    const std::int64_t first = div_up(std::max<std::int64_t>(target.patch.own_first.x - begin, 0), stride);
    const std::int64_t last = div_up(std::max<std::int64_t>(target.patch.own_last.x - begin, 0), stride);
    ensure(last <= out.shape.n.x, "a pass computes what its geometry promises");
    if (first >= last) continue;
    const float* from = row + fragment_index(fragment, counts_) * out.strides.S;
    std::byte* const begin_of_row = target.slab.data + (to + (begin + first * stride) * step) * element_bytes(type);
    write_row(type, from + first, last - first, begin_of_row, stride * step);
  }
}

}  // namespace znni
