#include "primitives/cpu/conv/bf16_rows.hpp"

#include <bit>

namespace znni::cpu {
namespace {

// Branches would keep the compiler from vectors, so NaN is a mask.
std::uint16_t rounded(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t nearest = (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
  const std::uint32_t quiet = (bits >> 16U) | 0x40U;
  const std::uint32_t is_nan = 0U - static_cast<std::uint32_t>((bits & 0x7fffffffU) > 0x7f800000U);
  return static_cast<std::uint16_t>((quiet & is_nan) | (nearest & ~is_nan));
}

}  // namespace

void round_to_bf16(const float* from, std::int64_t from_step, std::uint16_t* to, std::int64_t voxels) {
  for (std::int64_t x = 0; x < voxels; ++x) {
    const float* const values = from + x * from_step;
    std::uint16_t* const own = to + x * bf16_block;
    for (std::int64_t lane = 0; lane < bf16_block; ++lane) own[lane] = rounded(values[lane]);
  }
}

void copy_blocks(const float* from, std::int64_t from_step, float* to, std::int64_t to_step, std::int64_t voxels,
                 std::int64_t channels) {
  for (std::int64_t x = 0; x < voxels; ++x) {
    const float* const values = from + x * from_step;
    float* const own = to + x * to_step;
    for (std::int64_t lane = 0; lane < bf16_block; ++lane) own[lane] = lane < channels ? values[lane] : 0.0F;
  }
}

}  // namespace znni::cpu
