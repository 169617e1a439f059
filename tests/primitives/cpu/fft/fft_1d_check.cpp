// Checks the 1D transforms of any library behind primitives/cpu/fft/fft_1d.hpp against the definition in double
// precision.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <numbers>
#include <random>
#include <thread>
#include <vector>

#include "primitives/cpu/fft/fft_1d.hpp"

namespace znni::cpu {
namespace {

using Wide = std::complex<double>;

// Memory aligned to fft_alignment, with room to start a few bytes later.
class Block {
 public:
  explicit Block(std::int64_t values) : values_(static_cast<std::size_t>(values) + 16) {}
  Complex* complex_values(std::int64_t skip = 0) {
    const auto address = reinterpret_cast<std::uintptr_t>(values_.data());
    return values_.data() + (fft_alignment - address % fft_alignment) % fft_alignment / sizeof(Complex) + skip;
  }
  float* reals() { return reinterpret_cast<float*>(complex_values()); }

 private:
  std::vector<Complex> values_;
};

std::vector<Wide> dft(const std::vector<Wide>& in, double sign) {
  const auto n = static_cast<std::int64_t>(in.size());
  std::vector<Wide> out(in.size());
  for (std::int64_t q = 0; q < n; ++q) {
    for (std::int64_t e = 0; e < n; ++e) {
      const double angle = sign * 2 * std::numbers::pi * static_cast<double>(q * e % n) / static_cast<double>(n);
      out[static_cast<std::size_t>(q)] += in[static_cast<std::size_t>(e)] * std::polar(1.0, angle);
    }
  }
  return out;
}

// Returns the tolerance; samples are of order one, and the rounding of a transform grows with log n.
double tolerance(std::int64_t n) { return 1e-6 * static_cast<double>(n + 4); }

class Lengths : public testing::TestWithParam<std::int64_t> {};

TEST_P(Lengths, ForwardIsTheDefinitionFromTileToStridedLinesAtBothAlignments) {
  const std::int64_t n = GetParam();
  const std::int64_t lines = 3;
  std::mt19937 random(static_cast<unsigned>(n));
  std::uniform_real_distribution<float> uniform(-1, 1);
  Result<Fft1d> fft = Fft1d::make({FftKind::forward, n, lines, 4, 1, 5, 1});
  ASSERT_TRUE(fft) << fft.error().message;
  for (const std::int64_t skip : {0, 1}) {
    Block tile(4 * n);
    Block out(5 * n);
    for (std::int64_t e = 0; e < 4 * n; ++e) tile.complex_values()[e] = {uniform(random), uniform(random)};
    fft->complex_lines(tile.complex_values(), out.complex_values(skip));
    for (std::int64_t l = 0; l < lines; ++l) {
      std::vector<Wide> line;
      for (std::int64_t e = 0; e < n; ++e) line.emplace_back(tile.complex_values()[4 * e + l]);
      const std::vector<Wide> expected = dft(line, -1);
      for (std::int64_t q = 0; q < n; ++q) {
        const Wide found(out.complex_values(skip)[5 * q + l]);
        EXPECT_NEAR(std::abs(found - expected[static_cast<std::size_t>(q)]), 0, tolerance(n)) << "line " << l;
      }
    }
  }
}

TEST_P(Lengths, BackwardUndoesForwardUpToTheLength) {
  const std::int64_t n = GetParam();
  Result<Fft1d> forward = Fft1d::make({FftKind::forward, n, 2, 2, 1, 2, 1});
  Result<Fft1d> backward = Fft1d::make({FftKind::backward, n, 2, 2, 1, 2, 1});
  ASSERT_TRUE(forward && backward);
  Block tile(2 * n);
  Block middle(2 * n);
  Block back(2 * n);
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (std::int64_t e = 0; e < 2 * n; ++e) tile.complex_values()[e] = {uniform(random), uniform(random)};
  forward->complex_lines(tile.complex_values(), middle.complex_values(1));
  backward->complex_lines(middle.complex_values(1), back.complex_values());
  for (std::int64_t e = 0; e < 2 * n; ++e) {
    const Complex expected = tile.complex_values()[e] * static_cast<float>(n);
    EXPECT_NEAR(std::abs(back.complex_values()[e] - expected), 0, tolerance(n)) << "value " << e;
  }
}

TEST_P(Lengths, RealLinesGoToHalfASpectrumAndBack) {
  const std::int64_t n = GetParam();
  const std::int64_t half = n / 2 + 1;
  Result<Fft1d> there = Fft1d::make({FftKind::real_to_complex, n, 2, 1, n, 1, half + 1});
  Result<Fft1d> back = Fft1d::make({FftKind::complex_to_real, n, 2, 1, half + 1, 1, n});
  ASSERT_TRUE(there && back);
  Block tile(2 * n);
  Block spectrum(2 * half + 2);
  std::vector<float> original;
  for (std::int64_t e = 0; e < 2 * n; ++e) {
    original.push_back(std::sin(static_cast<float>(e * e)));
    tile.reals()[e] = original.back();
  }
  there->from_real(tile.reals(), spectrum.complex_values());
  for (std::int64_t l = 0; l < 2; ++l) {
    const std::vector<Wide> expected = dft({original.begin() + l * n, original.begin() + (l + 1) * n}, -1);
    for (std::int64_t q = 0; q < half; ++q) {
      const Wide found(spectrum.complex_values()[l * (half + 1) + q]);
      EXPECT_NEAR(std::abs(found - expected[static_cast<std::size_t>(q)]), 0, tolerance(n)) << "line " << l;
    }
  }
  back->to_real(spectrum.complex_values(), tile.reals());
  for (std::int64_t e = 0; e < 2 * n; ++e) {
    EXPECT_NEAR(tile.reals()[e], static_cast<float>(n) * original[static_cast<std::size_t>(e)], tolerance(n));
  }
}

INSTANTIATE_TEST_SUITE_P(Fft1d, Lengths,
                         testing::Values(1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 24, 45, 54, 60, 64, 97, 98, 143, 360));

TEST(Fft1d, PlansMadeAtOnceOnManyThreadsGiveTheSameBits) {
  std::vector<std::vector<Complex>> results(8);
  std::vector<std::thread> threads;
  for (std::vector<Complex>& result : results) {
    threads.emplace_back([&result] {
      Result<Fft1d> fft = Fft1d::make({FftKind::forward, 48, 4, 4, 1, 4, 1});
      Block tile(4 * 48);
      Block out(4 * 48);
      for (std::int64_t e = 0; e < 4 * 48; ++e) tile.complex_values()[e] = {std::sin(static_cast<float>(e)), 1};
      fft->complex_lines(tile.complex_values(), out.complex_values());
      result.assign(out.complex_values(), out.complex_values() + 4 * 48);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<Complex>& result : results) {
    EXPECT_EQ(std::memcmp(result.data(), results[0].data(), result.size() * sizeof(Complex)), 0);
  }
}

}  // namespace
}  // namespace znni::cpu
