#include "primitives/cpu/pool/pool_rows.hpp"

#include <algorithm>

namespace znni::cpu {
namespace {

void reduce(PoolKind kind, const float* from, std::span<float> to) {
  if (kind == PoolKind::max) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = to[i] < from[i] ? from[i] : to[i];
  } else {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  }
}

// Takes strides that the compiler knows, so that it can use vector shuffles.
template <std::int64_t stride>
void take_floats(const float* from, float factor, std::span<float> to) {
  for (std::size_t v = 0; v < to.size(); ++v) to[v] = factor * from[static_cast<std::int64_t>(v) * stride];
}

void take_floats(const float* from, std::int64_t stride, float factor, std::span<float> to) {
  switch (stride) {
    case 1: return take_floats<1>(from, factor, to);
    case 2: return take_floats<2>(from, factor, to);
    case 3: return take_floats<3>(from, factor, to);
    case 4: return take_floats<4>(from, factor, to);
    default: break;
  }
  for (std::size_t v = 0; v < to.size(); ++v) to[v] = factor * from[static_cast<std::int64_t>(v) * stride];
}

template <std::int64_t width>
void take_blocks(const float* from, std::int64_t stride, float factor, std::span<float> to) {
  for (float* voxel = to.data(); voxel != to.data() + to.size(); voxel += width) {
    for (std::int64_t lane = 0; lane < width; ++lane) voxel[lane] = factor * from[lane];
    from += stride * width;
  }
}

}  // namespace

void pool_rows(PoolKind kind, const float* in, std::int64_t stride_z, std::int64_t stride_y, Vec3 window,
               std::span<float> to) {
  std::copy_n(in, to.size(), to.begin());
  for (std::int64_t row = 1; row < window.z * window.y; ++row) {
    reduce(kind, in + row / window.y * stride_z + row % window.y * stride_y, to);
  }
}

void pool_along_row(PoolKind kind, std::span<const float> from, std::int64_t step, std::int64_t window,
                    std::span<float> to) {
  std::copy_n(from.begin(), to.size(), to.begin());
  for (std::int64_t d = 1; d < window; ++d) reduce(kind, from.data() + d * step, to);
}

void take_voxels(std::span<const float> from, std::int64_t width, std::int64_t first, std::int64_t stride, float factor,
                 std::span<float> to) {
  const float* start = from.data() + first * width;
  if (width == 1) return take_floats(start, stride, factor, to);
  if (width == 8) return take_blocks<8>(start, stride, factor, to);
  ensure(width == 16, "rows have 1, 8 or 16 lanes");
  take_blocks<16>(start, stride, factor, to);
}

}  // namespace znni::cpu
