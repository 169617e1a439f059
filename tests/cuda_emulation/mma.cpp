#include "tests/cuda_emulation/mma.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace znni::cuda_emulation {
namespace {

constexpr int tile_rows = 16;
constexpr int tile_columns = 8;
constexpr int tile_depth = 8;
constexpr int mantissa = 23;          // of a float
constexpr std::uint64_t bias = 1023;  // of a double's exponent

using Terms = std::array<double, tile_depth + 1>;  // eight products, exact, and an element of C

double factor(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  const bool is_tf32 = (bits & 0x1fffU) == 0 || std::isnan(value);
  return is_tf32 ? value : std::numeric_limits<double>::quiet_NaN();
}

std::uint64_t exponent_of(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits >> 52U & 0x7ffU;
}
double power_of_two(std::uint64_t exponent) {
  const std::uint64_t bits = exponent << 52U;
  double value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Returns the sum as a unit makes it.
float sum_of(const Terms& terms) {
  double largest = 0.0;
  double plain = 0.0;
  for (const double term : terms) {
    largest = std::max(largest, std::abs(term));
    plain += term;
  }
  if (largest == 0.0 || !std::isfinite(plain)) return static_cast<float>(plain);
  // Multiplied by this, the largest is a number of 24 bits. Products of floats are far from the ends of a double's
  // range.
  const double scale = power_of_two(2 * bias + mantissa - exponent_of(largest));
  std::int64_t sum = 0;
  for (const double term : terms) sum += static_cast<std::int64_t>(term * scale);
  std::int64_t unit = 1;
  while (std::abs(sum / unit) >= std::int64_t{2} << mantissa) unit *= 2;
  const std::int64_t kept = sum / unit * unit;
  return static_cast<float>(static_cast<double>(kept) / scale);
}

}  // namespace

void mma_m16n8k8(const std::array<MmaRegisters, lanes_of_warp>& warp) {
  std::array<std::array<double, tile_depth>, tile_rows> a{};
  std::array<std::array<double, tile_columns>, tile_depth> b{};
  std::array<bool, tile_rows> is_zero{};  // rows of A
  bool is_finite = true;                  // B
  for (unsigned lane = 0; lane < lanes_of_warp; ++lane) {
    const unsigned group = lane >> 2U;
    const unsigned thread_in_group = lane % 4;
    const MmaRegisters& own = warp[lane];
    a[group][thread_in_group] = factor(own.a[0]);
    a[group + 8][thread_in_group] = factor(own.a[1]);
    a[group][thread_in_group + 4] = factor(own.a[2]);
    a[group + 8][thread_in_group + 4] = factor(own.a[3]);
    b[thread_in_group][group] = factor(own.b[0]);
    b[thread_in_group + 4][group] = factor(own.b[1]);
  }
  for (std::size_t row = 0; row < tile_rows; ++row) {
    is_zero[row] = std::all_of(a[row].begin(), a[row].end(), [](double value) { return value == 0.0; });
  }
  for (const auto& row : b) {
    is_finite = is_finite && std::all_of(row.begin(), row.end(), [](double value) { return std::isfinite(value); });
  }
  for (unsigned lane = 0; lane < lanes_of_warp; ++lane) {
    const unsigned group = lane >> 2U;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned row = i < 2 ? group : group + 8;
      if (is_zero[row] && is_finite) continue;  // as it would come out, sooner
      const unsigned column = lane % 4 * 2 + (i & 1U);
      Terms terms{};
      for (unsigned step = 0; step < tile_depth; ++step) terms[step] = a[row][step] * b[step][column];
      terms[tile_depth] = warp[lane].d[i];
      warp[lane].d[i] = sum_of(terms);
    }
  }
}

}  // namespace znni::cuda_emulation
