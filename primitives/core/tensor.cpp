#include "primitives/core/tensor.hpp"

namespace znni {

std::int64_t element_bytes(ElementType type) {
  switch (type) {
    case ElementType::f32: return 4;
    case ElementType::f16:
    case ElementType::u16:
    case ElementType::bf16: return 2;
    case ElementType::u8: return 1;
  }
  return 0;
}

std::int64_t block_width(Layout layout) {
  return layout == Layout::blocked16 ? 16 : layout == Layout::blocked8 ? 8 : 1;
}

std::int64_t tensor_bytes(const Shape5& shape, Format format) {
  const Shape5 padded{shape.S, round_up(shape.f, block_width(format.layout)), shape.n};
  return mul(elements(padded), element_bytes(format.type));
}

Strides dense_strides(const Shape5& shape, Format format) {
  const std::int64_t width = block_width(format.layout);
  const bool channels_last = format.layout == Layout::channels_last;
  Strides strides;
  strides.x = channels_last ? shape.f : width;
  strides.y = mul(strides.x, shape.n.x);
  strides.z = mul(strides.y, shape.n.y);
  strides.f = channels_last ? 1 : mul(strides.z, shape.n.z);
  strides.S = mul(mul(voxels(shape.n), strides.x), channels_last ? 1 : div_up(shape.f, width));
  return strides;
}

TensorView dense_view(float* data, const Shape5& shape, Format format) {
  return {data, shape, format, dense_strides(shape, format)};
}

std::string to_string(ElementType type) {
  switch (type) {
    case ElementType::f32: return "f32";
    case ElementType::f16: return "f16";
    case ElementType::u16: return "u16";
    case ElementType::u8: return "u8";
    case ElementType::bf16: return "bf16";
  }
  return "?";
}

std::string to_string(Format format) {
  switch (format.layout) {
    case Layout::planar: return to_string(format.type) + ":planar";
    case Layout::blocked16: return to_string(format.type) + ":blocked16";
    case Layout::blocked8: return to_string(format.type) + ":blocked8";
    case Layout::channels_last: return to_string(format.type) + ":channels_last";
  }
  return "?";
}

}  // namespace znni
