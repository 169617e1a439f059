#include "primitives/cpu/pool/pool_voxels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/random.hpp"

namespace znni::cpu {
namespace {

constexpr float untouched = -7.0F;

// Returns the maximum or sum of one lane over the window whose first voxel is voxel x of input row y.
float naive(PoolKind kind, const PooledPlane& plane, std::int64_t width, std::int64_t y, std::int64_t x,
            std::int64_t lane) {
  float result = kind == PoolKind::max ? plane.in[y * plane.step_y + x * width + lane] : 0.0F;
  for (std::int64_t i = 0; i < voxels(plane.window); ++i) {
    const Vec3 at{i / plane.window.x / plane.window.y, i / plane.window.x % plane.window.y, i % plane.window.x};
    const float value = plane.in[at.z * plane.step_z + (y + at.y) * plane.step_y + (x + at.x) * width + lane];
    result = kind == PoolKind::max ? std::max(result, value) : result + value;
  }
  return plane.factor * result;
}

std::int64_t input_row(const PooledPlane& plane, std::int64_t y) {
  return y / plane.kept_y * plane.stride_y + y % plane.kept_y;
}

// Returns a plane, sometimes with more positions than are processed at once.
PooledPlane random_plane(test::Random& random, std::int64_t width) {
  PooledPlane plane;
  plane.window = random.vec3(1, max_pooled);
  plane.rows = random.integer(1, 9);
  plane.positions = random.chance(0.3) ? random.integer(60, 140) : random.integer(1, 12);
  plane.stride_x = random.integer(1, random.chance(0.1) ? max_pooled_stride : 3);
  plane.kept_x = random.integer(1, plane.stride_x);
  plane.stride_y = random.integer(1, 5);
  plane.kept_y = random.integer(1, plane.stride_y);
  plane.step_y = (plane.positions + plane.window.x - 1) * width;
  plane.step_z = (input_row(plane, plane.rows - 1) + plane.window.y) * plane.step_y;
  plane.out_step_y = (plane.positions + random.integer(0, 2)) * width;
  plane.factor = 0.5F;
  plane.past_caches = random.chance(0.5);
  return plane;
}

class PoolVoxels : public testing::TestWithParam<std::int64_t> {};

TEST_P(PoolVoxels, AgreeWithTheWindowAndWriteNothingElse) {
  const std::int64_t width = GetParam();
  test::Random random(test::base_seed());
  for (int round = 0; round < 300; ++round) {
    PooledPlane plane = random_plane(random, width);
    const std::vector<float> in = random.normals(plane.window.z * plane.step_z);
    plane.in = in.data();
    // Rows of one offset follow those of the one before, from an aligned address on.
    const std::int64_t room = plane.rows * plane.out_step_y;
    std::vector<float> memory(static_cast<std::size_t>(plane.kept_y * plane.kept_x * room + 8), untouched);
    float* const start = memory.data() + (32 - reinterpret_cast<std::uintptr_t>(memory.data()) % 32) % 32 / 4;
    std::vector<float*> out;
    for (std::int64_t i = 0; i < plane.kept_y * plane.kept_x; ++i) out.push_back(start + i * room);
    plane.out = out.data();
    const PoolKind kind = round % 2 == 0 ? PoolKind::max : PoolKind::average;
    pool_voxels(kind, width, plane);
    finish_pooling();
    for (std::int64_t y = 0; y < plane.rows; ++y) {
      for (std::int64_t p = 0; p < plane.positions; ++p) {
        const std::int64_t offset = p % plane.stride_x;
        if (offset >= plane.kept_x) continue;
        float* const row = out[static_cast<std::size_t>(y % plane.kept_y * plane.kept_x + offset)] +
                           y / plane.kept_y * plane.out_step_y;
        for (std::int64_t lane = 0; lane < width; ++lane) {
          float& found = row[p / plane.stride_x * width + lane];
          const float expected = naive(kind, plane, width, input_row(plane, y), p, lane);
          ASSERT_NEAR(found, expected, 1e-5F) << round << ", row " << y << ", position " << p;
          found = untouched;
        }
      }
    }
    for (const float value : memory) ASSERT_EQ(value, untouched) << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, PoolVoxels, testing::Values(8, 16));

}  // namespace
}  // namespace znni::cpu
