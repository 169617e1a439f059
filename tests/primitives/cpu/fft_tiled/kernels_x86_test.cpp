#include <gtest/gtest.h>

#include <algorithm>

#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {
namespace {

TEST(KernelsX86, AreThereForVectorsOf16And8And4Floats) {
  for (const int lanes : {16, 8, 4}) {
    const TileKernels* kernels = tile_kernels(lanes);
    ASSERT_NE(kernels, nullptr) << lanes;
    EXPECT_EQ(kernels->lanes, std::max(lanes, 8));
    for (const bool there : {kernels->forward != nullptr, kernels->column != nullptr, kernels->inverse != nullptr,
                             kernels->spectra != nullptr}) {
      EXPECT_TRUE(there) << lanes;
    }
  }
}

TEST(KernelsX86, AreNotThereForOtherVectors) {
  for (const int lanes : {-8, 0, 1, 2, 12, 32}) EXPECT_EQ(tile_kernels(lanes), nullptr) << lanes;
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
