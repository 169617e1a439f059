// Tensors: what lies where. A TensorView does not own its memory; memory is granted by an Arena
// (primitives/core/arena.hpp) out of what a Device reserved.
#pragma once

#include <cstdint>
#include <string>

#include "primitives/core/shape.hpp"

namespace znni {

// float32 is what every CPU primitive computes in; the others are for the wire and for GPU plans (bf16: for these
// alone).
enum class ElementType { f32, f16, u16, u8, bf16 };
[[nodiscard]] std::int64_t element_bytes(ElementType type);

// planar: NCDHW. blocked16 / blocked8: nCdhw16c / nCdhw8c, images padded with zeros to whole blocks, the
// image within the block contiguous. channels_last: NDHWC.
enum class Layout { planar, blocked16, blocked8, channels_last };

// How an edge of the graph lies in memory; searched by the planner.
struct Format {
  ElementType type = ElementType::f32;
  Layout layout = Layout::planar;

  constexpr auto operator<=>(const Format&) const = default;
};

// Images per block: 16, 8, or 1 for the layouts that have none.
[[nodiscard]] std::int64_t block_width(Layout layout);

// Bytes of a dense tensor in this format, padding of blocks included; saturates.
[[nodiscard]] std::int64_t tensor_bytes(const Shape5& shape, Format format);

// Distances in elements. `f` steps from image to image (planar, channels_last) or from block to block
// (blocked); `x` from voxel to voxel: 1, the block width, or f.
struct Strides {
  std::int64_t S = 0;
  std::int64_t f = 0;
  std::int64_t z = 0;
  std::int64_t y = 0;
  std::int64_t x = 0;

  constexpr auto operator<=>(const Strides&) const = default;
};
[[nodiscard]] Strides dense_strides(const Shape5& shape, Format format);

// Elements of `shape` at `data`, owned by someone else: in host memory, or in an accelerator's, where the host must not
// look. Primitives must honour the strides of the views they are given: an output may be a window of a larger tensor.
// `data` and the functions below are for float32; a primitive of other elements casts and counts in its own.
struct TensorView {
  float* data = nullptr;
  Shape5 shape;
  Format format;
  Strides strides;

  // First voxel of image j of input s (planar); of the block j / width, plus j % width (blocked).
  [[nodiscard]] float* image(std::int64_t s, std::int64_t j) const {
    const std::int64_t width = block_width(format.layout);
    return data + s * strides.S + (j / width) * strides.f + j % width;
  }
  [[nodiscard]] float& at(std::int64_t s, std::int64_t j, Vec3 position) const {
    return image(s, j)[position.z * strides.z + position.y * strides.y + position.x * strides.x];
  }
  // No gaps between its voxels, rows and planes.
  [[nodiscard]] bool is_dense() const { return strides == dense_strides(shape, format); }
};

[[nodiscard]] TensorView dense_view(float* data, const Shape5& shape, Format format = {});

[[nodiscard]] std::string to_string(ElementType type);  // "f32"
[[nodiscard]] std::string to_string(Format format);     // "f32:planar"

}  // namespace znni
