#include "server/train/step/fragments.hpp"

namespace znni {
namespace {

// Calls body(row, at, step, count) for each row of the fragments: `row` of `count` floats, whose voxels lie `step`
// apart in the dense output, from element `at` on.
template <class Body>
void for_each_row(const Geometry& geometry, const TensorView& fragments, Executor& executor, const Body& body) {
  const Shape5& shape = fragments.shape;
  const Vec3 dense = geometry.patch_output;
  executor.parallel_for(shape.S * shape.f * shape.n.z, [&](std::int64_t index, int) {
    const std::int64_t s = index / shape.n.z / shape.f;
    const std::int64_t j = index / shape.n.z % shape.f;
    for (Vec3 v{index % shape.n.z, 0, 0}; v.y < shape.n.y; ++v.y) {
      const Vec3 place = dense_position(geometry, 0, s, v);
      const std::int64_t at = ((j * dense.z + place.z) * dense.y + place.y) * dense.x + place.x;
      body(&fragments.at(s, j, v), at, geometry.fragments[2].stride, shape.n.x);
    }
  });
}

}  // namespace

void put_together(const Geometry& geometry, const TensorView& fragments, std::span<float> dense, Executor& executor) {
  for_each_row(geometry, fragments, executor,
               [&](const float* row, std::int64_t at, std::int64_t step, std::int64_t count) {
                 float* const to = dense.data() + at;
                 for (std::int64_t x = 0; x < count; ++x) to[x * step] = row[x];
               });
}

void take_apart(const Geometry& geometry, std::span<const float> dense, const TensorView& fragments,
                Executor& executor) {
  for_each_row(geometry, fragments, executor, [&](float* row, std::int64_t at, std::int64_t step, std::int64_t count) {
    const float* const from = dense.data() + at;
    for (std::int64_t x = 0; x < count; ++x) row[x] = from[x * step];
  });
}

}  // namespace znni
