// Own transforms behind primitives/cpu/fft/fft_1d.hpp; fft_1d_check.cpp has the tests that every library must pass.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "primitives/cpu/fft/fft_1d.hpp"

namespace znni::cpu {
namespace {

TEST(OwnFft, AsksForNoLicence) { EXPECT_EQ(fft_1d_notice(), ""); }

// One line has an impulse: its transform has magnitude one everywhere, and the lines beside it stay zero.
TEST(OwnFft, LinesDoNotMixInAnyLane) {
  for (const std::int64_t lines : {1, 7, 8, 9, 21}) {
    const std::int64_t n = 60;
    const Result<Fft1d> fft = Fft1d::make({FftKind::forward, n, lines, lines, 1, lines, 1});
    ASSERT_TRUE(fft);
    for (std::int64_t own = 0; own < lines; ++own) {
      std::vector<Complex> in(static_cast<std::size_t>(n * lines));
      std::vector<Complex> out(in.size(), Complex(9, 9));
      in[static_cast<std::size_t>(13 * lines + own)] = 1;
      fft->complex_lines(in.data(), out.data());
      for (std::int64_t e = 0; e < n * lines; ++e) {
        EXPECT_NEAR(std::abs(out[static_cast<std::size_t>(e)]), e % lines == own ? 1 : 0, 1e-6) << "value " << e;
      }
    }
  }
}

TEST(OwnFft, NoLinesAreNothing) {
  const Result<Fft1d> fft = Fft1d::make({FftKind::forward, 16, 0, 1, 16, 1, 16});
  ASSERT_TRUE(fft);
  fft->complex_lines(nullptr, nullptr);
}

}  // namespace
}  // namespace znni::cpu
