// FFTW behind primitives/cpu/fft/fft_1d.hpp; fft_1d_check.cpp has the tests that every library must pass.
#include <gtest/gtest.h>

#include "primitives/cpu/fft/fft_1d.hpp"

namespace znni::cpu {
namespace {

TEST(Fftw, AsksForItsLicence) { EXPECT_NE(fft_1d_notice().find("GPL-3.0-or-later"), std::string_view::npos); }

}  // namespace
}  // namespace znni::cpu
