#include "tests/primitives/cpu/fft_tiled/plain_transform.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace znni::cpu::fft_tiled {
namespace {

std::vector<Wide> roots_of(std::int64_t n, double sign) {
  std::vector<Wide> roots;
  for (std::int64_t k = 0; k < n; ++k) {
    roots.push_back(std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)));
  }
  return roots;
}

void transform_line(Wide* line, std::int64_t step, const std::vector<Wide>& roots) {
  const auto n = static_cast<std::int64_t>(roots.size());
  std::vector<Wide> sums(roots.size());
  for (std::int64_t t = 0; t < n; ++t) {
    const Wide value = line[t * step];
    if (value == Wide{}) continue;
    for (std::int64_t k = 0; k < n; ++k) {
      const Wide root = roots[static_cast<std::size_t>(k * t % n)];
      sums[static_cast<std::size_t>(k)] += Wide{value.real() * root.real() - value.imag() * root.imag(),
                                                value.real() * root.imag() + value.imag() * root.real()};
    }
  }
  for (std::int64_t k = 0; k < n; ++k) line[k * step] = sums[static_cast<std::size_t>(k)];
}

}  // namespace

void plain_transform(std::vector<Wide>& values, Vec3 n, int axis, double sign) {
  const std::vector<Wide> roots = roots_of(n[axis], sign);
  const Vec3 steps{n.y * n.x, n.x, 1};
  Vec3 lines = n;
  lines[axis] = 1;
  for (std::int64_t z = 0; z < lines.z; ++z) {
    for (std::int64_t y = 0; y < lines.y; ++y) {
      for (std::int64_t x = 0; x < lines.x; ++x) {
        transform_line(values.data() + z * steps.z + y * steps.y + x, steps[axis], roots);
      }
    }
  }
}

void expect_alike(const std::vector<double>& actual, const std::vector<double>& expected, double scale) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const double value : expected) scale = std::max(scale, std::abs(value));
  std::size_t worst = 0;
  const auto error = [&](std::size_t i) {
    const double difference = std::abs(actual[i] - expected[i]);
    return std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
  };
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (error(i) > error(worst)) worst = i;
  }
  if (actual.empty()) return;
  EXPECT_LE(error(worst), 4e-6 * scale) << "value " << worst << " of " << actual.size() << " is " << actual[worst]
                                        << ", not " << expected[worst];
}

}  // namespace znni::cpu::fft_tiled
