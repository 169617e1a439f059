#include <gtest/gtest.h>

#include "primitives/cpu/fft_tiled/tile_kernels.hpp"

namespace znni::cpu::fft_tiled {

extern const TileKernels kernels_portable;

namespace {

TEST(KernelsAarch64, AreThePortableOnesForVectorsOf4Floats) { EXPECT_EQ(tile_kernels(4), &kernels_portable); }

TEST(KernelsAarch64, AreNotThereForOtherVectors) {
  for (const int floats : {-4, 0, 1, 2, 8, 12, 16, 32}) EXPECT_EQ(tile_kernels(floats), nullptr) << floats;
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
