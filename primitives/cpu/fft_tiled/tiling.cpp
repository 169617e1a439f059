#include "primitives/cpu/fft_tiled/tiling.hpp"

#include <algorithm>

#include "primitives/core/fragments.hpp"

namespace znni::cpu::fft_tiled {

const std::vector<std::int64_t>& tile_extents() {
  static const std::vector<std::int64_t> extents{4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 36, 40, 48};
  return extents;
}

Vec3 Tiling::m() const {
  Vec3 covered = T - problem.k + Vec3::cube(1);
  for (int axis = 0; has_border && axis < 3; ++axis) {
    if (T[axis] >= n_out()[axis]) covered[axis] = n_out()[axis];
  }
  return covered;
}

Vec3 Tiling::tiles() const {
  const Vec3 out = n_out();
  const Vec3 valid = m();
  return {div_up(out.z, valid.z), div_up(out.y, valid.y), div_up(out.x, valid.x)};
}

std::int64_t Tiling::first_column(std::int64_t kx) const {
  const std::int64_t real = T.y / 2 + 1;
  if (kx == 0) return 0;
  return kx == T.x / 2 ? real : 2 * real + (kx - 1) * T.y;
}

std::int64_t Tiling::stacks_of(std::int64_t batch) const {
  return std::min(stacks_per_batch, stacks() - batch * stacks_per_batch);
}

Stack stack_at(const Tiling& tiling, std::int64_t index) {
  const Vec3 tiles = tiling.tiles();
  const Vec3 m = tiling.m();
  const std::int64_t phases = voxels(tiling.phases.count);
  const std::int64_t tile = index / phases;
  return {tile / (tiles.x * tiles.y), tile / tiles.x % tiles.y * m.y, tile % tiles.x * m.x,
          fragment_at(index % phases, tiling.phases.count)};
}

std::int64_t column_weight(const Tiling& tiling, std::int64_t column) {
  const std::int64_t real = tiling.T.y / 2 + 1;
  if (column >= 2 * real) return 2;
  const std::int64_t ky = column % real;
  return ky == 0 || ky == tiling.T.y / 2 ? 1 : 2;
}

}  // namespace znni::cpu::fft_tiled
