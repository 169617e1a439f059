#include "primitives/cpu/pool_voxels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/random.hpp"

namespace znni::cpu {
namespace {

// Max or sum of one lane over the window at position p.
float naive(PoolKind kind, const PooledRow& row, std::int64_t width, std::int64_t p, std::int64_t lane) {
  float result = kind == PoolKind::max ? row.in[p * width + lane] : 0.0F;
  for (std::int64_t i = 0; i < voxels(row.window); ++i) {
    const Vec3 at{i / row.window.x / row.window.y, i / row.window.x % row.window.y, i % row.window.x};
    const float value = row.in[at.z * row.step_z + at.y * row.step_y + (p + at.x) * width + lane];
    result = kind == PoolKind::max ? std::max(result, value) : result + value;
  }
  return row.factor * result;
}

class PoolVoxels : public testing::TestWithParam<std::int64_t> {};

TEST_P(PoolVoxels, AgreeWithTheWindowAndWriteNothingElse) {
  const std::int64_t width = GetParam();
  test::Random random(test::base_seed());
  for (int round = 0; round < 200; ++round) {
    PooledRow row;
    row.window = {random.integer(1, 3), random.integer(1, 3), random.integer(1, most_pooled_along_x)};
    row.positions = random.integer(1, 12);
    row.stride = random.integer(1, 3);
    row.kept = random.integer(1, row.stride);
    row.step_y = (row.positions + row.window.x - 1) * width;
    row.step_z = row.window.y * row.step_y;
    row.factor = 0.5F;
    row.past_caches = random.chance(0.5);
    const std::vector<float> in = random.normals(row.window.z * row.step_z);
    row.in = in.data();
    const std::int64_t room = row.positions * width;
    // One row of room per offset, from an aligned address on.
    std::vector<float> memory(static_cast<std::size_t>(row.stride * room + 8), -7.0F);
    float* const start = memory.data() + (32 - reinterpret_cast<std::uintptr_t>(memory.data()) % 32) % 32 / 4;
    std::vector<float*> out;
    for (std::int64_t offset = 0; offset < row.stride; ++offset) out.push_back(start + offset * room);
    row.out = out.data();
    const PoolKind kind = round % 2 == 0 ? PoolKind::max : PoolKind::average;
    pool_voxels(kind, width, row);
    finish_pooling();
    for (std::int64_t p = 0; p < row.positions; ++p) {
      for (std::int64_t lane = 0; lane < width; ++lane) {
        float& found = out[static_cast<std::size_t>(p % row.stride)][p / row.stride * width + lane];
        if (p % row.stride < row.kept) {
          ASSERT_NEAR(found, naive(kind, row, width, p, lane), 1e-5F) << round;
          found = -7.0F;
        }
      }
    }
    for (const float value : memory) ASSERT_EQ(value, -7.0F) << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, PoolVoxels, testing::Values(8, 16));

}  // namespace
}  // namespace znni::cpu
