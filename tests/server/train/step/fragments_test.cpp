#include "server/train/step/fragments.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/planner/dense_net.hpp"
#include "tests/support/cpu.hpp"

namespace znni {
namespace {

TEST(Fragments, AreTakenApartAsTheyWerePutTogether) {
  Network net;
  net.nodes = {{"a", Pooling{PoolKind::max, {1, 2, 3}, {1, 2, 3}}, {0}},
               {"b", Pooling{PoolKind::max, {2, 1, 2}, {2, 1, 2}}, {1}}};
  const std::vector<PoolingMode> modes(2, PoolingMode(PoolMode::fragments));
  test::Random random(1);
  const Geometry geometry = make_geometry(net, {test::random_extent(net, modes, random, 3), 1, modes}).value();
  const Shape5 shape = geometry.values.back();
  std::vector<float> fragments = random.normals(elements(shape));
  const TensorView view = dense_view(fragments.data(), shape);
  std::vector<float> dense(static_cast<std::size_t>(voxels(geometry.patch_output)), std::nanf(""));
  const std::unique_ptr<Device> device = test::open_cpu(2);
  put_together(geometry, view, dense, device->executor());
  const Vec3 n = geometry.patch_output;
  for (std::int64_t s = 0; s < shape.S; ++s) {
    const Vec3 last = shape.n - Vec3::cube(1);
    const Vec3 at = dense_position(geometry, 0, s, last);
    EXPECT_EQ(dense[static_cast<std::size_t>((at.z * n.y + at.y) * n.x + at.x)], view.at(s, 0, last));
  }
  std::vector<float> again(fragments.size(), std::nanf(""));
  take_apart(geometry, dense, dense_view(again.data(), shape), device->executor());
  EXPECT_EQ(again, fragments);
}

}  // namespace
}  // namespace znni
