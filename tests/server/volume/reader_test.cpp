#include "server/volume/reader.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "planner/network/swap_axes.hpp"
#include "primitives/core/fragments.hpp"
#include "tests/server/volume/random_volume.hpp"
#include "tests/support/layout.hpp"

namespace znni {
namespace {

using test::Random;
using test::RandomVolume;

float expected_voxel(const RandomVolume& volume, const Normalisation& normalisation, std::int64_t j, Vec3 at) {
  const Vec3 zero{};
  if (!covers(at, zero) || !covers(volume.shape.n - Vec3::cube(1), at)) return 0.0F;
  return test::voxel(volume.bytes.data(), volume.shape, j, at) * normalisation.scale + normalisation.offset;
}

// Checks every voxel of the tensor, one by one.
void check_windows(const RandomVolume& volume, const Normalisation& normalisation, const std::vector<Vec3>& starts,
                   Vec3 window, Executor& executor, int axis = 0) {
  const Shape5 shape{static_cast<std::int64_t>(starts.size()), volume.shape.f, window};
  std::vector<float> data(static_cast<std::size_t>(elements(shape)), -77.0F);
  const TensorView in = dense_view(data.data(), shape);
  const WholeVolume whole(volume.view());
  read_windows(whole, normalisation, starts, in, executor, axis);
  for (std::int64_t s = 0; s < shape.S; ++s) {
    for (std::int64_t j = 0; j < shape.f; ++j) {
      for (std::int64_t i = 0; i < voxels(window); ++i) {
        const Vec3 v = fragment_at(i, window);
        const Vec3 at = swap_axes(starts[static_cast<std::size_t>(s)] + v, axis);
        const float wanted = expected_voxel(volume, normalisation, j, at);
        const float size = std::abs(wanted - normalisation.offset) + std::abs(normalisation.offset);
        // A product may be rounded before it is added, or not.
        ASSERT_NEAR(in.at(s, j, v), wanted, 2.4e-7F * size)
            << "s " << s << " channel " << j << " voxel " << to_string(v);
      }
    }
  }
}

class Reader : public testing::TestWithParam<ElementType> {
 protected:
  Executor executor_{2};
};

TEST_P(Reader, RandomWindowsEqualTheVolumeVoxelByVoxel) {
  for (int i = 0; i < test::case_count(40); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    const RandomVolume volume = random_volume(random.integer(1, 3), random.vec3(1, 12), GetParam(), random);
    std::vector<Vec3> starts;
    for (std::int64_t s = random.integer(1, 3); s > 0; --s) starts.push_back(random.vec3(-3, 14));
    check_windows(volume, {random.normal(), random.normal()}, starts, random.vec3(1, 9), executor_, i % 3);
  }
}

TEST_P(Reader, LargeWindowsAreSharedOutAndEqual) {
  Random random(test::base_seed());
  const RandomVolume volume = random_volume(2, {30, 40, 50}, GetParam(), random);
  check_windows(volume, {0.5F, 1.0F}, {{0, 0, 0}, {3, 5, 7}}, {27, 38, 41}, executor_);
}

// Draws a volume and a window of it, which may reach beyond.
struct Drawn {
  RandomVolume volume;
  Vec3 start;
  Vec3 n;
};
Drawn drawn_window(ElementType type, Random& random) {
  return {random_volume(random.integer(1, 3), random.vec3(3, 9), type, random), random.vec3(-1, 2), random.vec3(1, 4)};
}

TEST(WindowInPlace, IsTheWindowThatWouldBeCopied) {
  Executor executor(1);
  int seen = 0;
  for (int i = 0; i < test::case_count(200); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed));
    Random random(seed);
    const auto [volume, start, n] = drawn_window(ElementType::f32, random);
    const std::optional<TensorView> view = window_in_place(WholeVolume(volume.view()), {}, start, n);
    EXPECT_EQ(view.has_value(), covers(start, {}) && covers(volume.shape.n, start + n));
    if (!view) continue;
    ++seen;
    std::vector<float> copied(static_cast<std::size_t>(volume.shape.f * voxels(n)));
    read_windows(volume.view(), {}, std::span(&start, 1), dense_view(copied.data(), view->shape), executor);
    EXPECT_EQ(test::load(*view), copied);
  }
  EXPECT_GE(seen, test::case_count(200) / 20);
}

TEST(WindowInPlace, IsNoneWhereVoxelsAreConverted) {
  Random random(test::base_seed());
  const auto is_in_place = [&](ElementType type, const Normalisation& normalisation) {
    const RandomVolume volume = random_volume(2, {4, 5, 6}, type, random);
    return window_in_place(WholeVolume(volume.view()), normalisation, {1, 1, 1}, {2, 2, 2}).has_value();
  };
  EXPECT_TRUE(is_in_place(ElementType::f32, {}));
  EXPECT_FALSE(is_in_place(ElementType::f32, {2.0F, 0.0F}));
  EXPECT_FALSE(is_in_place(ElementType::f32, {1.0F, 1.0F}));
  EXPECT_FALSE(is_in_place(ElementType::f32, {1.0F, 0.0F, 0.0F}));
  for (const ElementType type : {ElementType::f16, ElementType::u16, ElementType::u8}) {
    EXPECT_FALSE(is_in_place(type, {}));
  }
}

TEST(WindowInPlace, IsNoneBetweenFloats) {
  const std::vector<float> memory(3);
  const VolumeView volume{reinterpret_cast<const std::byte*>(memory.data()) + 2, {1, {1, 1, 2}}};
  EXPECT_FALSE(window_in_place(WholeVolume(volume), {}, {}, {1, 1, 2}));
}

// The planes of a volume in memory from `split` on lie 1024 floats further on, as behind the end of a ring.
class SplitSource final : public PlaneSource {
 public:
  SplitSource(const VolumeShape& shape, std::int64_t split) : shape_(shape), split_(split), memory_(4096) {}
  const VolumeShape& shape() const override { return shape_; }
  void want(const PlaneRange& /*planes*/) override {}
  bool here() const override { return true; }
  Result<void> wait(const std::stop_token& /*stop*/) override { return {}; }
  const std::byte* plane(std::int64_t channel, std::int64_t z) const override {
    const std::int64_t floats = channel * channel_stride(shape_) + z * plane_stride(shape_) + (z < split_ ? 0 : 1024);
    return reinterpret_cast<const std::byte*>(memory_.data() + floats);
  }

 private:
  VolumeShape shape_;
  std::int64_t split_;
  std::vector<float> memory_;
};

TEST(WindowInPlace, HasPlanesAtEvenDistances) {
  const VolumeShape shape{2, {6, 3, 4}, ElementType::f32, VolumeOrder::plane_major};
  const SplitSource source(shape, 3);
  for (std::int64_t first = 0; first < 6; ++first) {
    for (std::int64_t count = 1; first + count <= 6; ++count) {
      const bool is_split = first < 3 && first + count > 3 && count > 2;  // two planes always are at one distance
      EXPECT_EQ(window_in_place(source, {}, {first, 1, 1}, {count, 2, 3}).has_value(), !is_split)
          << count << " planes from " << first;
    }
  }
}

TEST_P(Reader, AVolumeInMemoryIsASource) {
  Random random(test::base_seed());
  const RandomVolume volume = random_volume(1, {4, 5, 6}, GetParam(), random);
  std::vector<float> one(24, -1);
  std::vector<float> other(24, -2);
  const std::vector<Vec3> starts = {{1, 2, 1}};
  read_windows(volume.view(), {}, starts, dense_view(one.data(), {1, 1, {2, 3, 4}}), executor_);
  read_windows(WholeVolume(volume.view()), {}, starts, dense_view(other.data(), {1, 1, {2, 3, 4}}), executor_);
  EXPECT_EQ(one, other);
}

INSTANTIATE_TEST_SUITE_P(Types, Reader,
                         testing::Values(ElementType::f32, ElementType::f16, ElementType::u16, ElementType::u8),
                         [](const auto& type) { return to_string(type.param); });

}  // namespace
}  // namespace znni
