#include "tests/support/layout.hpp"

#include "tests/support/random.hpp"
#include "tests/support/rounding.hpp"

namespace znni::test {
namespace {

// Calls body(s, j, position) for channels [first, last) of every input, in the order of a dense planar tensor.
template <class Body>
void for_each(const Shape5& shape, std::int64_t first, std::int64_t last, const Body& body) {
  for (std::int64_t s = 0; s < shape.S; ++s) {
    for (std::int64_t j = first; j < last; ++j) {
      for (Vec3 v; v.z < shape.n.z; ++v.z) {
        for (v.y = 0; v.y < shape.n.y; ++v.y) {
          for (v.x = 0; v.x < shape.n.x; ++v.x) body(s, j, v);
        }
      }
    }
  }
}

std::int64_t padded_images(const TensorView& view) { return round_up(view.shape.f, block_width(view.format.layout)); }

}  // namespace

void store(std::span<const float> planar, const TensorView& view) {
  ensure(static_cast<std::int64_t>(planar.size()) == elements(view.shape), "values do not fill their shape");
  const float* next = planar.data();
  for_each(view.shape, 0, view.shape.f, [&](std::int64_t s, std::int64_t j, Vec3 v) { set(view, s, j, v, *next++); });
  for_each(view.shape, view.shape.f, padded_images(view),
           [&](std::int64_t s, std::int64_t j, Vec3 v) { set(view, s, j, v, 0.0F); });
}

std::vector<float> load(const TensorView& view) {
  std::vector<float> planar;
  planar.reserve(static_cast<std::size_t>(elements(view.shape)));
  for_each(view.shape, 0, view.shape.f,
           [&](std::int64_t s, std::int64_t j, Vec3 v) { planar.push_back(get(view, s, j, v)); });
  return planar;
}

bool padding_is_zero(const TensorView& view) {
  bool zero = true;
  for_each(view.shape, view.shape.f, padded_images(view),
           [&](std::int64_t s, std::int64_t j, Vec3 v) { zero = zero && view.at(s, j, v) == 0.0F; });
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

}  // namespace znni::test
