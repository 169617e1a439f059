#include "server/volume/stitcher.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "planner/network/swap_axes.hpp"
#include "primitives/core/half.hpp"
#include "tests/server/volume/random_volume.hpp"
#include "tests/support/layout.hpp"

namespace znni {
namespace {

using test::Random;

// Draws a net of poolings alone: the stitcher sees only strides and offsets of any net.
Network poolings(Random& random) {
  Network network;
  network.name = "poolings";
  for (std::int64_t i = random.integer(0, 2); i >= 0; --i) {
    const int value = static_cast<int>(network.nodes.size());
    const Vec3 stride = random.vec3(1, 3);
    network.nodes.push_back({"pool" + std::to_string(i), Pooling{PoolKind::max, stride, stride}, {value}});
  }
  return network;
}

Geometry random_geometry(Random& random) {
  const Network network = poolings(random);
  GeometryChoice choice;
  choice.S = random.integer(1, 3);
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    const std::int64_t half = random.integer(0, 3);  // of a chain of poolings each may be held
    choice.modes.push_back(random.chance(0.5) ? PoolingMode(PoolMode::plain) : PoolMode::fragments);
    const Vec3 stride = std::get<Pooling>(network.nodes[i].operation).stride;
    if (half > 0) choice.modes.back() = {stride, half > 1};
  }
  for (int axis = 0; axis < 3; ++axis) {
    const std::vector<std::int64_t> legal = legal_extents(network, choice.modes, axis, 60);
    const auto last = std::min<std::int64_t>(3, static_cast<std::int64_t>(legal.size()) - 1);
    choice.pass_input[axis] = legal[static_cast<std::size_t>(random.integer(0, last))];
  }
  Result<Geometry> geometry = make_geometry(network, choice);
  ensure(geometry.has_value(), "legal extents make a geometry");
  return *geometry;
}

// Returns the value the pass would compute for a dense voxel: different for every voxel and channel.
float value_of(std::int64_t s, std::int64_t j, Vec3 dense) {
  return static_cast<float>((s * 5 + j) % 7) * 0.125F + static_cast<float>(dense.z % 8 + 8 * (dense.y % 8)) / 512.0F +
         static_cast<float>(dense.x % 8) / 4096.0F;
}

float as_written(float value, ElementType type) {
  if (type == ElementType::f16) return float_from_half(half_from_float(value));
  if (type == ElementType::u8) return std::round(std::clamp(value, 0.0F, 1.0F) * 255.0F);
  return value;
}

// Returns the output of one pass, filled through dense_position().
std::vector<float> pass_output(const Geometry& geometry, std::size_t pass, const TensorView& out) {
  std::vector<float> data(static_cast<std::size_t>(elements(out.shape)));
  const std::int64_t fragments = out.shape.S / geometry.choice.S;
  const TensorView view = dense_view(data.data(), out.shape);
  for (std::int64_t s = 0; s < out.shape.S; ++s) {
    for (std::int64_t j = 0; j < out.shape.f; ++j) {
      for (std::int64_t i = 0; i < voxels(out.shape.n); ++i) {
        const Vec3 v = fragment_at(i, out.shape.n);
        view.at(s, j, v) = value_of(s / fragments, j, dense_position(geometry, pass, s % fragments, v));
      }
    }
  }
  return data;
}

// Targets side by side along x in one slab, each owning a random part of its patch.
struct Scene {
  std::vector<StitchTarget> targets;
  VolumeShape shape;
  std::vector<std::byte> bytes;
  int axis = 0;
};

Scene random_scene(const Geometry& geometry, std::int64_t f_out, ElementType type, Random& random) {
  const Vec3 patch = geometry.patch_output;
  const int z = geometry.choice.axis;  // where the slab's z is
  Vec3 start = random.vec3(0, 2);
  start[z] += random.integer(0, 7);
  const std::int64_t cut = random.integer(0, patch[z] / 2);  // the slab may begin within the patch
  Scene scene;
  scene.axis = z;
  const std::int64_t first_plane = start[z] + cut;
  const Vec3 end = start + Vec3{patch.z, patch.y, geometry.choice.S * patch.x} + random.vec3(0, 2);
  scene.shape = {f_out, swap_axes(end, z) - Vec3{first_plane, 0, 0}, type, test::random_order(random)};
  scene.bytes.assign(static_cast<std::size_t>(volume_bytes(scene.shape)), std::byte{0x5a});
  for (std::int64_t s = 0; s < geometry.choice.S; ++s) {
    GridPatch laid{start + Vec3{0, 0, s * patch.x}, {}, patch};
    for (int axis = 0; axis < 3; ++axis) {
      laid.own_first[axis] = random.integer(axis == z ? cut : 0, patch[axis]);
      laid.own_last[axis] = random.integer(laid.own_first[axis], patch[axis]);
    }
    scene.targets.push_back({laid, {first_plane, scene.bytes.data(), scene.shape}});
  }
  return scene;
}

// Returns the index of the target that owns the slab's voxel, and its dense position in that patch.
std::int64_t owner(const Scene& scene, Vec3 at, Vec3& dense) {
  for (std::size_t s = 0; s < scene.targets.size(); ++s) {
    const StitchTarget& target = scene.targets[s];
    dense = swap_axes(at + Vec3{target.slab.first_plane, 0, 0}, scene.axis) - target.patch.start;
    const bool owned = covers(dense, target.patch.own_first) && covers(target.patch.own_last - Vec3::cube(1), dense);
    if (owned) return static_cast<std::int64_t>(s);
  }
  return -1;
}

void check_scene(const Scene& scene) {
  const std::vector<std::byte> untouched(scene.bytes.size(), std::byte{0x5a});
  for (std::int64_t j = 0; j < scene.shape.f; ++j) {
    for (std::int64_t i = 0; i < voxels(scene.shape.n); ++i) {
      const Vec3 at = fragment_at(i, scene.shape.n);
      Vec3 dense;
      const std::int64_t s = owner(scene, at, dense);
      const float found = test::voxel(scene.bytes.data(), scene.shape, j, at);
      const float wanted = s < 0 ? test::voxel(untouched.data(), scene.shape, j, at)
                                 : as_written(value_of(s, j, dense), scene.shape.type);
      ASSERT_EQ(found, wanted) << "channel " << j << " voxel " << to_string(at) << " of patch " << s << " at "
                               << to_string(dense);
    }
  }
}

class StitcherOf : public testing::TestWithParam<ElementType> {
 protected:
  Executor executor_{2};
};

TEST_P(StitcherOf, AllPassesTogetherFillWhatIsOwnedAndNothingElse) {
  for (int i = 0; i < test::case_count(60); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    Geometry geometry = random_geometry(random);
    geometry.choice.axis = static_cast<int>(random.integer(0, 2));
    Shape5 out = geometry.values.back();
    out.f = random.integer(1, 3);
    const Scene scene = random_scene(geometry, out.f, GetParam(), random);
    const Stitcher stitcher(geometry);
    for (std::size_t pass = 0; pass < geometry.passes.size(); ++pass) {
      std::vector<float> data = pass_output(geometry, pass, dense_view(nullptr, out));
      stitcher.stitch(pass, dense_view(data.data(), out), scene.targets, executor_);
    }
    check_scene(scene);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, StitcherOf, testing::Values(ElementType::f32, ElementType::f16, ElementType::u8),
                         [](const auto& type) { return to_string(type.param); });

TEST(Stitcher, LargeOutputsAreSharedOutAndEqual) {
  Network network;
  network.nodes = {{"pool", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(2)}, {0}}};
  const Result<Geometry> geometry = make_geometry(network, {{41, 43, 81}, 1, {PoolMode::fragments}});
  ASSERT_TRUE(geometry) << geometry.error().message;
  Executor executor(2);
  Random random(test::base_seed());
  const Shape5 out = geometry->values.back();
  ASSERT_GE(elements(out), 1 << 16);
  Scene scene = random_scene(*geometry, 1, ElementType::f32, random);
  scene.targets.front().patch.own_first = {scene.targets.front().patch.own_first.z, 0, 3};
  scene.targets.front().patch.own_last = geometry->patch_output;
  std::vector<float> data = pass_output(*geometry, 0, dense_view(nullptr, out));
  Stitcher(*geometry).stitch(0, dense_view(data.data(), out), scene.targets, executor);
  check_scene(scene);
}

// Returns the geometry of a pooling of stride 1, whose pass is the whole output.
Geometry dense_geometry(std::int64_t S) {
  Network network;
  network.nodes = {{"pool", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(1)}, {0}}};
  return make_geometry(network, {{4, 5, 6}, S, {PoolMode::fragments}}).value();
}

// Lets each patch of a scene own all that it computes, in a slab that begins where it does.
Scene owned_scene(const Geometry& geometry, ElementType type, Random& random) {
  Scene scene;
  scene.shape = {2, geometry.patch_output + random.vec3(0, 2), type, test::random_order(random)};
  scene.bytes.assign(static_cast<std::size_t>(volume_bytes(scene.shape)), std::byte{0x5a});
  const GridPatch patch{scene.shape.n - geometry.patch_output + Vec3{5, 0, 0}, {}, geometry.patch_output};
  scene.targets.assign(static_cast<std::size_t>(geometry.choice.S), {patch, {5, scene.bytes.data(), scene.shape}});
  return scene;
}

Shape5 output_of(const Geometry& geometry) {
  Shape5 out = geometry.values.back();
  out.f = 2;
  return out;
}

TEST(OutputInPlace, IsWhereTheOutputIsStitchedTo) {
  const Geometry geometry = dense_geometry(1);
  for (int i = 0; i < test::case_count(20); ++i) {
    Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const Scene scene = owned_scene(geometry, ElementType::f32, random);
    const std::optional<TensorView> place = Stitcher(geometry).output_in_place(output_of(geometry), scene.targets);
    ASSERT_TRUE(place);
    test::store(pass_output(geometry, 0, *place), *place);
    check_scene(scene);
  }
}

TEST(OutputInPlace, IsNoneWhereOutputIsCutOrConverted) {
  Random random(test::base_seed());
  const auto is_in_place = [](const Geometry& geometry, const Scene& scene) {
    return Stitcher(geometry).output_in_place(output_of(geometry), scene.targets).has_value();
  };
  const Geometry geometry = dense_geometry(1);
  Scene scene = owned_scene(geometry, ElementType::f32, random);
  EXPECT_TRUE(is_in_place(geometry, scene));
  scene.targets.front().patch.own_first.y = 1;
  EXPECT_FALSE(is_in_place(geometry, scene));
  scene.targets.front().patch.own_first.y = 0;
  scene.targets.front().patch.own_last.z -= 1;
  EXPECT_FALSE(is_in_place(geometry, scene));
  for (const ElementType type : {ElementType::f16, ElementType::u8}) {
    EXPECT_FALSE(is_in_place(geometry, owned_scene(geometry, type, random)));
  }
  EXPECT_FALSE(is_in_place(dense_geometry(2), owned_scene(dense_geometry(2), ElementType::f32, random)));
  scene = owned_scene(geometry, ElementType::f32, random);
  scene.targets.front().slab.data += 2;  // between floats
  EXPECT_FALSE(is_in_place(geometry, scene));
}

TEST(OutputInPlace, IsNoneOfFragmentsAndPasses) {
  Random random(test::base_seed());
  Network network;
  network.nodes = {{"pool", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(2)}, {0}}};
  for (const PoolMode mode : {PoolMode::fragments, PoolMode::plain}) {
    const Vec3 input = Vec3::cube(mode == PoolMode::plain ? 4 : 3);
    const Geometry geometry = make_geometry(network, {input, 1, {mode}}).value();
    const Scene scene = owned_scene(geometry, ElementType::f32, random);
    EXPECT_FALSE(Stitcher(geometry).output_in_place(output_of(geometry), scene.targets));
  }
}

}  // namespace
}  // namespace znni
