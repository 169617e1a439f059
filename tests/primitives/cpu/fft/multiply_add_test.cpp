#include "primitives/cpu/fft/multiply_add.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace znni::cpu {
namespace {

using Wide = std::complex<double>;

std::vector<Complex> random_values(std::mt19937& random, std::int64_t count) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<Complex> values;
  for (std::int64_t e = 0; e < count; ++e) values.emplace_back(uniform(random), uniform(random));
  return values;
}

TEST(MultiplyAdd, ConjugatesTheKernelForEveryCount) {
  std::mt19937 random(5);
  for (std::int64_t count = 0; count < 40; ++count) {
    const std::vector<Complex> channel = random_values(random, count + 1);
    const std::vector<Complex> kernel = random_values(random, count + 1);
    const std::vector<Complex> before = random_values(random, count + 1);
    std::vector<Complex> product = before;
    std::vector<Complex> sum = before;
    multiply(channel.data(), kernel.data(), product.data(), count);
    multiply_add(channel.data(), kernel.data(), sum.data(), count);
    for (std::size_t e = 0; e < static_cast<std::size_t>(count); ++e) {
      const Wide expected = Wide(channel[e]) * std::conj(Wide(kernel[e]));
      EXPECT_NEAR(std::abs(Wide(product[e]) - expected), 0, 1e-6) << "count " << count << ", element " << e;
      EXPECT_NEAR(std::abs(Wide(sum[e]) - (Wide(before[e]) + expected)), 0, 1e-6);
    }
    EXPECT_EQ(product.back(), before.back()) << "wrote past count " << count;
    EXPECT_EQ(sum.back(), before.back()) << "wrote past count " << count;
  }
}

}  // namespace
}  // namespace znni::cpu
