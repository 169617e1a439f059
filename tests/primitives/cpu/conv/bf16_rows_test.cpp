#include "primitives/cpu/conv/bf16_rows.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "primitives/cpu/backend.hpp"
#include "tests/support/random.hpp"
#include "tests/support/rounding.hpp"

namespace znni::cpu {
namespace {

constexpr std::int64_t lanes = bf16_block;
constexpr float endless = std::numeric_limits<float>::infinity();

bool has_vectors() { return describe_cpu(1).simd_floats == 16; }

// Returns numbers of every exponent, with ties, infinities and NaNs among them.
std::vector<float> any_floats(std::int64_t count, std::uint64_t seed) {
  test::Random random(seed);
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<std::uint32_t>(random.integer(0, 0xffffffffLL));
    values.push_back(std::bit_cast<float>(i % 3 == 0 ? (bits & 0xffff0000U) | 0x8000U : bits));
  }
  const float special[] = {0.0F, -0.0F, endless, -endless, std::nanf(""), -std::nanf(""), 3.4e38F, 1e-42F};
  std::copy(std::begin(special), std::end(special), values.begin());
  values[8] = std::bit_cast<float>(0x7fffffffU);  // the NaN that rounding up would turn to zero
  values[9] = std::bit_cast<float>(0x7f800001U);  // that whose bits all fall away
  return values;
}

TEST(Bf16Rows, RoundToTheNearest) {
  if (!has_vectors()) GTEST_SKIP() << "no AVX-512";
  constexpr std::int64_t voxels = 200;
  const std::vector<float> from = any_floats(voxels * lanes, 1);
  std::vector<std::uint16_t> to(from.size());
  round_to_bf16(from.data(), lanes, to.data(), voxels);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const float found = std::bit_cast<float>(static_cast<std::uint32_t>(to[i]) << 16U);
    const float expected = test::rounded_to_bf16(from[i]);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(found)) << i;
    } else {
      EXPECT_EQ(found, expected) << from[i];
      EXPECT_EQ(std::signbit(found), std::signbit(from[i])) << i;
    }
  }
}

TEST(Bf16Rows, KeepToTheirSteps) {
  if (!has_vectors()) GTEST_SKIP() << "no AVX-512";
  test::Random random(2);
  for (int round = 0; round < 20; ++round) {
    const std::int64_t from_step = random.integer(lanes, 40);
    const std::int64_t to_step = random.integer(lanes, 40);
    const std::int64_t voxels = random.integer(1, 9);
    const std::int64_t channels = random.integer(1, 20);
    const std::vector<float> from = random.normals(from_step * voxels);
    std::vector<std::uint16_t> rounded(static_cast<std::size_t>(lanes * voxels + 1), 7);
    std::vector<float> copied(static_cast<std::size_t>(to_step * voxels), 7.0F);
    round_to_bf16(from.data(), from_step, rounded.data(), voxels);
    copy_blocks(from.data(), from_step, copied.data(), to_step, voxels, channels);
    EXPECT_EQ(rounded.back(), 7) << "wrote behind the voxels";
    for (std::int64_t i = 0; i < to_step * voxels; ++i) {
      const std::int64_t x = i / to_step;
      const std::int64_t lane = i % to_step;
      const float found = copied[static_cast<std::size_t>(i)];
      if (lane >= lanes) {
        EXPECT_EQ(found, 7.0F) << "wrote between the voxels";
        continue;
      }
      const float value = from[static_cast<std::size_t>(x * from_step + lane)];
      const std::uint32_t bits = rounded[static_cast<std::size_t>(x * lanes + lane)];
      EXPECT_EQ(std::bit_cast<float>(bits << 16U), test::rounded_to_bf16(value));
      EXPECT_EQ(found, lane < channels ? value : 0.0F);
    }
  }
}

}  // namespace
}  // namespace znni::cpu
