// Makes the kernels of stack_rows.hpp for an instruction set.
#pragma once

#include "primitives/cpu/pool/stack_rows.hpp"
#include "primitives/cpu/vectors/vector_activations.hpp"

namespace znni::cpu {

template <class Isa>
struct StackMax {
  using V = typename Isa::V;
  static __attribute__((always_inline)) inline V reduce(V a, V b) { return Isa::max(a, b); }
};
template <class Isa>
struct StackSum {
  using V = typename Isa::V;
  static __attribute__((always_inline)) inline V reduce(V a, V b) { return a + b; }
};

// Reduces `more` rows at float `at` with `value`.
template <class Isa, class Reduction>
__attribute__((always_inline)) inline typename Isa::V reduced(typename Isa::V value, const float* const* rows,
                                                              std::int64_t more, std::int64_t at) {
  for (std::int64_t i = 0; i < more; ++i) value = Reduction::reduce(value, Isa::load(rows[i] + at));
  return value;
}

// Pools a row over windows of these extents; 0 stands for any.
template <class Isa, class Reduction, int z, int y, int x>
void pool_stack_row(const StackRow& row) {
  using V = typename Isa::V;
  const std::int64_t planes = z > 0 ? z - 1 : row.plane_count;
  const std::int64_t rows = y > 0 ? y - 1 : row.row_count;
  const std::int64_t window = x > 0 ? x : row.window;
  const float* plane_at[z > 0 ? z : 1] = {};
  const float* row_at[y > 0 ? y : 1] = {};
  for (int i = 0; i + 1 < z; ++i) plane_at[i] = row.planes[i];
  for (int i = 0; i + 1 < y; ++i) row_at[i] = row.rows[i];
  const float* const* const plane_rows = z > 0 ? plane_at : row.planes;
  const float* const* const row_rows = y > 0 ? row_at : row.rows;
  const float* const from = row.from;
  float* const plane_to = row.plane_to;
  float* const row_to = row.row_to;
  float* const out = row.out;
  const std::int64_t step = row.step;
  const V scale = Isa::load(row.scale);
  const V shift = Isa::load(row.shift);
  const V floor = Isa::broadcast(row.floor);
  const std::int64_t floats = row.floats;
  for (std::int64_t at = 0; at < floats; at += Isa::lanes) {
    V value = Isa::load(from + at);
    for (std::int64_t d = 1; d < window; ++d) value = Reduction::reduce(value, Isa::load(from + at + d * step));
    const V along_z = reduced<Isa, Reduction>(value, plane_rows, planes, at);
    const V along_y = reduced<Isa, Reduction>(along_z, row_rows, rows, at);
    if (z != 1) Isa::store(plane_to + at, value);
    if (y != 1) Isa::store(row_to + at, along_z);
    Isa::store(out + at, Isa::max(scale * along_y + shift, floor));
  }
}

template <class Isa, class Reduction>
PoolStackRow pool_of(Vec3 window) {
  if (window == Vec3::cube(3)) return &pool_stack_row<Isa, Reduction, 3, 3, 3>;
  if (window == Vec3{1, 3, 3}) return &pool_stack_row<Isa, Reduction, 1, 3, 3>;
  if (window == Vec3::cube(2)) return &pool_stack_row<Isa, Reduction, 2, 2, 2>;
  if (window == Vec3::cube(1)) return &pool_stack_row<Isa, Reduction, 1, 1, 1>;
  return &pool_stack_row<Isa, Reduction, 0, 0, 0>;
}

template <class Isa>
constexpr StackKernels make_stack_kernels() {
  return {Isa::lanes,
          [](PoolKind kind, Vec3 window) {
            return kind == PoolKind::max ? pool_of<Isa, StackMax<Isa>>(window) : pool_of<Isa, StackSum<Isa>>(window);
          },
          &activate_vectors<Isa>};
}

}  // namespace znni::cpu
