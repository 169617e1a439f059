// Copies planar values into views of any layout and strides, of float32 or bf16, and back.
#pragma once

#include <span>
#include <vector>

#include "primitives/core/tensor.hpp"
#include "tests/oracle/oracle.hpp"

namespace znni::test {

// Stores `planar`, which is dense [S][f][z][y][x]. Padding channels of blocked layouts become zeros.
void store(std::span<const float> planar, const TensorView& view);

[[nodiscard]] std::vector<float> load(const TensorView& view);

// Returns the voxels of `shape`, dense [S][f][z][y][x], as the oracle takes them; NaN where the view, which may begin
// late, ends before it.
[[nodiscard]] oracle::Values load_exactly(const TensorView& view, const Shape5& shape);

// Stores values of the oracle, dense [S][f][z][y][x] as many as the view has, rounded to its element type. Padding
// channels keep what they hold.
void store_rounded(const oracle::Values& values, const TensorView& view);

// Returns whether every padding channel of a blocked view holds zeros; true for other layouts.
[[nodiscard]] bool padding_is_zero(const TensorView& view);

// A window inside a larger tensor of the same format, with gaps of 1 to 3 voxels, rows and planes (from `seed`) between
// its own. A block of `elements` floats from view.data - before on holds it.
struct Window {
  TensorView view;          // data is null: add the base of the block and `before`
  std::int64_t before = 0;  // elements of the block before the view's first
  std::int64_t elements = 0;
};
[[nodiscard]] Window strided_window(const Shape5& shape, Format format, std::uint64_t seed);
// Returns all of a block in the order of a volume whose channels lie plane by plane, [S][z][f][y][x]; planar alone.
[[nodiscard]] Window plane_major_window(const Shape5& shape);

}  // namespace znni::test
