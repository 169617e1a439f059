// Tensors: views of elements in memory. A TensorView does not own its memory; an Arena (primitives/core/arena.hpp)
// grants it from a Device's reservation.
#pragma once

#include <cstdint>
#include <string>

#include "primitives/core/shape.hpp"

namespace znni {

// Tensors on a CPU are in f32. The others are for the wire; bf16 is for GPUs and for scratch of cpu.conv.onednn_bf16.
enum class ElementType { f32, f16, u16, u8, bf16 };
[[nodiscard]] std::int64_t element_bytes(ElementType type);

// planar: NCDHW. blocked16 / blocked8: nCdhw16c / nCdhw8c, channels padded with zeros to whole blocks; the channel
// within the block is contiguous. channels_last: NDHWC.
enum class Layout { planar, blocked16, blocked8, channels_last };

// Format of a tensor between two layers; the planner searches over it.
struct Format {
  ElementType type = ElementType::f32;
  Layout layout = Layout::planar;

  constexpr auto operator<=>(const Format&) const = default;
};

// Returns the channels per block: 16, 8, or 1 for layouts without blocks.
[[nodiscard]] std::int64_t block_width(Layout layout);

// Returns the bytes of a dense tensor in this format, padding of blocks included; saturates.
[[nodiscard]] std::int64_t tensor_bytes(const Shape5& shape, Format format);

// Distances in elements. `f` steps from channel to channel (planar, channels_last) or from block to block (blocked).
// `x` steps from voxel to voxel: 1, the block width, or f.
struct Strides {
  std::int64_t S = 0;
  std::int64_t f = 0;
  std::int64_t z = 0;
  std::int64_t y = 0;
  std::int64_t x = 0;

  constexpr auto operator<=>(const Strides&) const = default;
};
[[nodiscard]] Strides dense_strides(const Shape5& shape, Format format);

// Elements of `shape` at `data`, which the view does not own. They lie in host memory or in an accelerator's memory,
// which the host must not read. Primitives must honour the strides of the views that they get: an output may be a
// window of a larger tensor. `data` and the functions below are for float32; a primitive with other elements casts and
// counts in those.
struct TensorView {
  float* data = nullptr;
  Shape5 shape;
  Format format;
  Strides strides;

  // Returns the first voxel of channel j of input s (planar); of block j / width, plus j % width (blocked).
  [[nodiscard]] float* channel(std::int64_t s, std::int64_t j) const {
    const std::int64_t width = block_width(format.layout);
    return data + s * strides.S + (j / width) * strides.f + j % width;
  }
  [[nodiscard]] float& at(std::int64_t s, std::int64_t j, Vec3 position) const {
    return channel(s, j)[position.z * strides.z + position.y * strides.y + position.x * strides.x];
  }
  // Returns true if there are no gaps between its voxels, rows and planes.
  [[nodiscard]] bool is_dense() const { return strides == dense_strides(shape, format); }
};

[[nodiscard]] TensorView dense_view(float* data, const Shape5& shape, Format format = {});

[[nodiscard]] std::string to_string(ElementType type);  // "f32"
[[nodiscard]] std::string to_string(Format format);     // "f32:planar"

}  // namespace znni
