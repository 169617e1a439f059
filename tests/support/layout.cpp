#include "tests/support/layout.hpp"

#include <cmath>

#include "tests/support/random.hpp"
#include "tests/support/rounding.hpp"

namespace znni::test {
namespace {

// Calls body(s, j, first voxel) for the rows of channels [first, last) of every input, in the order of a dense planar
// tensor.
template <class Body>
void for_each_row(const Shape5& shape, std::int64_t first, std::int64_t last, const Body& body) {
  for (std::int64_t s = 0; s < shape.S; ++s) {
    for (std::int64_t j = first; j < last; ++j) {
      for (Vec3 v; v.z < shape.n.z; ++v.z) {
        for (v.y = 0; v.y < shape.n.y; ++v.y) body(s, j, v);
      }
    }
  }
}

std::int64_t padded_channels(const TensorView& view) { return round_up(view.shape.f, block_width(view.format.layout)); }

// Stores the `count` voxels of a row, value(x) at x.
template <class Value>
void store_row(const TensorView& view, std::int64_t s, std::int64_t j, Vec3 row, std::int64_t count,
               const Value& value) {
  if (view.format.type != ElementType::f32) {
    for (; row.x < count; ++row.x) set(view, s, j, row, value(row.x));
    return;
  }
  float* const first = &view.at(s, j, row);
  const std::int64_t step = view.strides.x;
  for (std::int64_t x = 0; x < count; ++x) first[x * step] = value(x);
}

// Calls take(x, voxel) for the first `count` voxels of a row.
template <class Take>
void load_row(const TensorView& view, std::int64_t s, std::int64_t j, Vec3 row, std::int64_t count, const Take& take) {
  if (view.format.type != ElementType::f32) {
    for (; row.x < count; ++row.x) take(row.x, get(view, s, j, row));
    return;
  }
  const float* const first = &view.at(s, j, row);
  const std::int64_t step = view.strides.x;
  for (std::int64_t x = 0; x < count; ++x) take(x, first[x * step]);
}

// Stores dense planar values of any type.
template <class Number>
void store_all(std::span<const Number> planar, const TensorView& view) {
  ensure(static_cast<std::int64_t>(planar.size()) == elements(view.shape), "values do not fill their shape");
  const Number* next = planar.data();
  const std::int64_t count = view.shape.n.x;
  for_each_row(view.shape, 0, view.shape.f, [&](std::int64_t s, std::int64_t j, Vec3 row) {
    const Number* const values = next;
    store_row(view, s, j, row, count, [values](std::int64_t x) { return static_cast<float>(values[x]); });
    next += count;
  });
}

}  // namespace

void store(std::span<const float> planar, const TensorView& view) {
  store_all(planar, view);
  for_each_row(view.shape, view.shape.f, padded_channels(view), [&](std::int64_t s, std::int64_t j, Vec3 row) {
    store_row(view, s, j, row, view.shape.n.x, [](std::int64_t) { return 0.0F; });
  });
}

void store_rounded(const oracle::Values& values, const TensorView& view) { store_all(std::span(values), view); }

std::vector<float> load(const TensorView& view) {
  std::vector<float> planar(static_cast<std::size_t>(elements(view.shape)));
  float* next = planar.data();
  const std::int64_t count = view.shape.n.x;
  for_each_row(view.shape, 0, view.shape.f, [&](std::int64_t s, std::int64_t j, Vec3 row) {
    float* const values = next;
    load_row(view, s, j, row, count, [values](std::int64_t x, float voxel) { values[x] = voxel; });
    next += count;
  });
  return planar;
}

oracle::Values load_exactly(const TensorView& view, const Shape5& shape) {
  oracle::Values values(static_cast<std::size_t>(elements(shape)), std::nan(""));
  double* next = values.data();
  const Vec3 n = min(view.shape.n, shape.n);
  for_each_row(shape, 0, shape.f, [&](std::int64_t s, std::int64_t j, Vec3 row) {
    double* const of_row = next;
    next += shape.n.x;
    if (row.z >= n.z || row.y >= n.y) return;
    load_row(view, s, j, row, n.x, [of_row](std::int64_t x, float voxel) { of_row[x] = voxel; });
  });
  return values;
}

bool padding_is_zero(const TensorView& view) {
  bool zero = true;
  for_each_row(view.shape, view.shape.f, padded_channels(view), [&](std::int64_t s, std::int64_t j, Vec3 row) {
    load_row(view, s, j, row, view.shape.n.x, [&zero](std::int64_t, float voxel) { zero = zero && voxel == 0.0F; });
  });
  return zero;
}

Window strided_window(const Shape5& shape, Format format, std::uint64_t seed) {
  Random random(seed);
  const std::int64_t width = block_width(format.layout);
  Strides strides;
  strides.x = width;
  strides.y = (shape.n.x + random.integer(1, 3)) * strides.x;
  strides.z = (shape.n.y + random.integer(1, 3)) * strides.y;
  strides.f = (shape.n.z + random.integer(1, 3)) * strides.z;
  strides.S = (div_up(shape.f, width) + random.integer(1, 3)) * strides.f;
  const std::int64_t before = strides.f + strides.z + strides.y + strides.x;
  return {{nullptr, shape, format, strides}, before, before + shape.S * strides.S};
}

Window plane_major_window(const Shape5& shape) {
  Strides strides;
  strides.x = 1;
  strides.y = shape.n.x;
  strides.f = shape.n.y * strides.y;
  strides.z = shape.f * strides.f;
  strides.S = shape.n.z * strides.z;
  return {{nullptr, shape, {}, strides}, 0, elements(shape)};
}

}  // namespace znni::test
