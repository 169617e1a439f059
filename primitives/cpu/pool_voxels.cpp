#include "primitives/cpu/pool_voxels.hpp"

#include "primitives/cpu/eight.hpp"

namespace znni::cpu {
namespace {

// A voxel of 8 or 16 lanes.
template <int parts>
struct Voxel {
  Eight::V part[parts];

  void load(const float* from) {
    for (int i = 0; i < parts; ++i) part[i] = Eight::load(from + 8 * i);
  }
};

struct Largest {
  static Eight::V reduce(Eight::V a, Eight::V b) { return Eight::larger(a, b); }
};
struct Sum {
  static Eight::V reduce(Eight::V a, Eight::V b) { return a + b; }
};

template <class Reduction, int parts>
void reduce(Voxel<parts>& to, const Voxel<parts>& from) {
  for (int i = 0; i < parts; ++i) to.part[i] = Reduction::reduce(to.part[i], from.part[i]);
}

// Over the planes and rows of the window.
template <class Reduction, int parts>
Voxel<parts> reduced_column(const PooledRow& row, const float* at) {
  Voxel<parts> result;
  result.load(at);
  for (std::int64_t z = 0; z < row.window.z; ++z) {
    for (std::int64_t y = z == 0 ? 1 : 0; y < row.window.y; ++y) {
      Voxel<parts> next;
      next.load(at + z * row.step_z + y * row.step_y);
      reduce<Reduction>(result, next);
    }
  }
  return result;
}

template <int parts>
void store(const Voxel<parts>& voxel, const PooledRow& row, float* to) {
  for (int i = 0; i < parts; ++i) {
    const Eight::V value = row.factor * voxel.part[i];
    if (row.past_caches) {
      Eight::stream(to + 8 * i, value);
    } else {
      Eight::store(to + 8 * i, value);
    }
  }
}

template <class Reduction, int parts, int window>
void pool_positions(const PooledRow& row) {
  constexpr std::int64_t width = 8 * parts;
  Voxel<parts> columns[window];  // of the window at the next position, the last one to come
  for (int d = 0; d + 1 < window; ++d) columns[d] = reduced_column<Reduction, parts>(row, row.in + d * width);
  std::int64_t offset = 0;
  std::int64_t index = 0;
  for (std::int64_t p = 0; p < row.positions; ++p) {
    columns[window - 1] = reduced_column<Reduction, parts>(row, row.in + (p + window - 1) * width);
    if (offset < row.kept) {
      Voxel<parts> result = columns[0];
      for (int d = 1; d < window; ++d) reduce<Reduction>(result, columns[d]);
      store(result, row, row.out[offset] + index * width);
    }
    for (int d = 0; d + 1 < window; ++d) columns[d] = columns[d + 1];
    if (++offset == row.stride) {
      offset = 0;
      ++index;
    }
  }
}

template <class Reduction, int parts>
void pool_row(const PooledRow& row) {
  switch (row.window.x) {
    case 1: return pool_positions<Reduction, parts, 1>(row);
    case 2: return pool_positions<Reduction, parts, 2>(row);
    case 3: return pool_positions<Reduction, parts, 3>(row);
    default: return pool_positions<Reduction, parts, 4>(row);
  }
}

}  // namespace

void pool_voxels(PoolKind kind, std::int64_t width, const PooledRow& row) {
  ensure(row.window.x <= most_pooled_along_x && (width == 8 || width == 16), "short windows over blocked rows");
  if (kind == PoolKind::max) return width == 16 ? pool_row<Largest, 2>(row) : pool_row<Largest, 1>(row);
  return width == 16 ? pool_row<Sum, 2>(row) : pool_row<Sum, 1>(row);
}

void finish_pooling() { Eight::fence(); }

}  // namespace znni::cpu
