#include "primitives/cpu/pool/pool_pairs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "primitives/core/fragments.hpp"
#include "primitives/cpu/pool/pool_voxels.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu {
namespace {

constexpr float untouched = -7.0F;

// Returns the largest value of one lane over the window that begins at this voxel.
float naive(const PairedPlane& plane, std::int64_t width, Vec3 first, std::int64_t lane) {
  float largest = -1e30F;
  for (std::int64_t i = 0; i < 4 * plane.window_z; ++i) {
    const Vec3 at = first + Vec3{i / 4, i / 2 % 2, i % 2};
    largest = std::max(largest, plane.in[at.z * plane.step_z + at.y * plane.step_y + at.x * width + lane]);
  }
  return plane.bias == nullptr ? largest : std::max(largest + plane.bias[lane], plane.least);
}

PairedPlane random_plane(test::Random& random, std::int64_t width) {
  PairedPlane plane;
  plane.window_z = random.integer(1, 2);
  plane.offsets = {random.integer(1, plane.window_z), random.integer(1, 2), random.integer(1, 2)};
  plane.rows = random.integer(1, 9);
  plane.positions = random.chance(0.2) ? random.integer(60, 90) : random.integer(1, 9);
  plane.step_y = (2 * plane.positions + plane.offsets.x - 1 + random.integer(0, 2)) * width;
  plane.step_z = (2 * plane.rows + plane.offsets.y - 1) * plane.step_y;
  plane.out_step_y = (plane.positions + random.integer(0, 2)) * width;
  plane.past_caches = random.chance(0.5);
  return plane;
}

class PoolPairs : public testing::TestWithParam<std::int64_t> {};

TEST_P(PoolPairs, AgreeWithTheWindowAndWriteNothingElse) {
  const std::int64_t width = GetParam();
  test::Random random(test::base_seed());
  for (int round = 0; round < 300; ++round) {
    PairedPlane plane = random_plane(random, width);
    const std::vector<float> bias = random.normals(width);
    if (random.chance(0.5)) plane.bias = bias.data();
    plane.least = random.chance(0.5) ? 0.0F : -1e30F;
    const std::vector<float> in = random.normals((plane.window_z + plane.offsets.z - 1) * plane.step_z);
    plane.in = in.data();
    // Rows of one offset follow those of the one before, from an aligned address on.
    const std::int64_t room = plane.rows * plane.out_step_y;
    const std::int64_t offsets = voxels(plane.offsets);
    std::vector<float> memory(static_cast<std::size_t>(offsets * room + 8), untouched);
    float* const start = memory.data() + (32 - reinterpret_cast<std::uintptr_t>(memory.data()) % 32) % 32 / 4;
    std::vector<float*> out;
    for (std::int64_t i = 0; i < offsets; ++i) out.push_back(start + i * room);
    plane.out = out.data();
    pool_pairs(width, plane);
    finish_pooling();
    for (std::int64_t i = 0; i < offsets * plane.rows * plane.positions; ++i) {
      const Vec3 place = fragment_at(i, {offsets, plane.rows, plane.positions});
      const Vec3 first = fragment_at(place.z, plane.offsets) + Vec3{0, 2 * place.y, 2 * place.x};
      for (std::int64_t lane = 0; lane < width; ++lane) {
        float& found = start[place.z * room + place.y * plane.out_step_y + place.x * width + lane];
        ASSERT_EQ(found, naive(plane, width, first, lane)) << round << ", " << to_string(place);
        found = untouched;
      }
    }
    for (const float value : memory) ASSERT_EQ(value, untouched) << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, PoolPairs, testing::Values(8, 16));

TEST(IsOfPairs, LooksAtWindowStrideAndKind) {
  const auto pool_of = [](Vec3 window, Vec3 stride, PoolKind kind) {
    PoolProblem pool{.in = {1, 8, {9, 9, 9}}};
    pool.window = window;
    pool.stride = stride;
    pool.kind = kind;
    return is_of_pairs(pool);
  };
  EXPECT_TRUE(pool_of({2, 2, 2}, {2, 2, 2}, PoolKind::max));
  EXPECT_TRUE(pool_of({1, 2, 2}, {1, 2, 2}, PoolKind::max));
  EXPECT_FALSE(pool_of({2, 2, 2}, {2, 2, 1}, PoolKind::max));
  EXPECT_FALSE(pool_of({2, 2, 1}, {2, 2, 1}, PoolKind::max));
  EXPECT_FALSE(pool_of({3, 2, 2}, {3, 2, 2}, PoolKind::max));
  EXPECT_FALSE(pool_of({2, 2, 2}, {2, 2, 2}, PoolKind::average));
}

}  // namespace
}  // namespace znni::cpu
