// Linear interpolation between rows, for upsamplings that interpolate.
#pragma once

#include <array>
#include <cstdint>

namespace znni::cpu {

// Interpolates by one product and one sum, which a compiler can fuse in one way only.
inline float between(float near, float far, float share) { return near + share * (far - near); }

// Input rows around an output row: two along y of each of two along z.
struct Rows {
  std::array<const float*, 2> near_z{};
  std::array<const float*, 2> far_z{};
  float share_y = 0;
  float share_z = 0;
};

// Writes floats [first, first + count) of a blended row.
inline void blend(const Rows& rows, std::int64_t first, std::int64_t count, float* __restrict to) {
  const float* const a = rows.near_z[0] + first;
  const float* const b = rows.near_z[1] + first;
  const float* const c = rows.far_z[0] + first;
  const float* const d = rows.far_z[1] + first;
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = between(between(a[i], b[i], rows.share_y), between(c[i], d[i], rows.share_y), rows.share_z);
  }
}

}  // namespace znni::cpu
