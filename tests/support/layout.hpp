// Planar float32 values into views of any layout and strides, of float32 or bf16, and back.
#pragma once

#include <span>
#include <vector>

#include "primitives/core/tensor.hpp"

namespace znni::test {

// `planar` is dense [S][f][z][y][x]. Padding images of blocked layouts become zeros.
void store(std::span<const float> planar, const TensorView& view);

[[nodiscard]] std::vector<float> load(const TensorView& view);

// Whether every padding image of a blocked view holds zeros; true for other layouts.
[[nodiscard]] bool padding_is_zero(const TensorView& view);

// A window inside a larger tensor of the same format: gaps of 1 to 3 voxels, rows and planes (from `seed`)
// lie between its own. `elements` floats starting at view.data - before hold it.
struct Window {
  TensorView view;          // data is null: add the base of the block and `before`
  std::int64_t before = 0;  // elements of the block ahead of the view's first
  std::int64_t elements = 0;
};
[[nodiscard]] Window strided_window(const Shape5& shape, Format format, std::uint64_t seed);

}  // namespace znni::test
