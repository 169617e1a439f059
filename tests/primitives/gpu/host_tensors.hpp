// Tensors of any element type and format in host memory, as kernels see them: dense, or windows of larger ones. Values
// go in and come out as planar floats.
#pragma once

#include <span>
#include <vector>

#include "primitives/core/tensor.hpp"
#include "primitives/gpu/element.hpp"
#include "tests/support/layout.hpp"
#include "tests/support/random.hpp"

namespace znni::cuda {

// A view of its own memory; `window`: within a larger tensor, misaligned.
class HostTensor {
 public:
  HostTensor(const Shape5& shape, Format format, bool window = false, std::uint64_t seed = 1) {
    const Format floats{ElementType::f32, format.layout};
    test::Window place{dense_view(nullptr, shape, floats), 0, tensor_bytes(shape, floats) / 4};
    if (window && format.layout == Layout::planar) place = test::strided_window(shape, floats, seed);
    if (window && format.layout == Layout::channels_last) place = channels_last_window(shape, seed);
    elements_ = place.elements;
    storage_.assign(static_cast<std::size_t>(elements_ * 4 / 16 + 2), Sixteen{});
    view_ = place.view;
    view_.format = format;
    view_.data = reinterpret_cast<float*>(reinterpret_cast<std::byte*>(storage_.data()) +
                                          place.before * element_bytes(format.type));
  }

  [[nodiscard]] const TensorView& view() const { return view_; }

  void store(std::span<const float> planar) {
    each(planar.size(), [&](std::size_t i, std::int64_t at) { put(at, planar[i]); });
  }
  [[nodiscard]] std::vector<float> load() const {
    std::vector<float> planar(static_cast<std::size_t>(elements(view_.shape)));
    each(planar.size(), [&](std::size_t i, std::int64_t at) { planar[i] = value(at); });
    return planar;
  }

 private:
  struct alignas(16) Sixteen {
    std::byte bytes[16] = {};
  };

  // Returns a window, also among the channels of a larger tensor; channels stay contiguous.
  static test::Window channels_last_window(const Shape5& shape, std::uint64_t seed) {
    test::Random random(seed);
    Strides strides{0, 1, 0, 0, shape.f + 8 * random.integer(0, 1) + random.integer(0, 1)};
    strides.y = (shape.n.x + random.integer(0, 2)) * strides.x;
    strides.z = (shape.n.y + random.integer(0, 2)) * strides.y;
    strides.S = (shape.n.z + random.integer(0, 2)) * strides.z;
    const std::int64_t before = random.chance(0.5) ? 16 : 3;
    return {{nullptr, shape, {ElementType::f32, Layout::channels_last}, strides}, before, before + shape.S * strides.S};
  }

  template <class Body>
  void each(std::size_t count, const Body& body) const {
    const Shape5& shape = view_.shape;
    const Strides& steps = view_.strides;
    for (std::size_t i = 0; i < count; ++i) {
      auto rest = static_cast<std::int64_t>(i);
      const std::int64_t x = rest % shape.n.x;
      rest /= shape.n.x;
      const std::int64_t y = rest % shape.n.y;
      rest /= shape.n.y;
      const std::int64_t z = rest % shape.n.z;
      rest /= shape.n.z;
      body(i, rest / shape.f * steps.S + rest % shape.f * steps.f + z * steps.z + y * steps.y + x * steps.x);
    }
  }
  void put(std::int64_t at, float value) {
    if (view_.format.type == ElementType::f32) view_.data[at] = value;
    if (view_.format.type == ElementType::f16) reinterpret_cast<Half*>(view_.data)[at] = narrow(value, Half());
    if (view_.format.type == ElementType::bf16) reinterpret_cast<Bfloat*>(view_.data)[at] = narrow(value, Bfloat());
    if (view_.format.type == ElementType::u8) {
      reinterpret_cast<std::uint8_t*>(view_.data)[at] = narrow(value, std::uint8_t());
    }
  }
  [[nodiscard]] float value(std::int64_t at) const {
    if (view_.format.type == ElementType::f16) return widen(reinterpret_cast<const Half*>(view_.data)[at]);
    if (view_.format.type == ElementType::bf16) return widen(reinterpret_cast<const Bfloat*>(view_.data)[at]);
    if (view_.format.type == ElementType::u8) return widen(reinterpret_cast<const std::uint8_t*>(view_.data)[at]);
    return view_.data[at];
  }

  std::int64_t elements_ = 0;
  std::vector<Sixteen> storage_;
  TensorView view_;
};

}  // namespace znni::cuda
