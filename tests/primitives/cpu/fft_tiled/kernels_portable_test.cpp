#include "tests/primitives/cpu/fft_tiled/kernels_check.hpp"

namespace znni::cpu::fft_tiled {

extern const TileKernels kernels_portable;

namespace {

INSTANTIATE_TEST_SUITE_P(Portable, KernelsCheck, testing::Values(4));

// There are 32 registers of 4 floats: accumulators and a row of weights take two each, a value of a tile one.
TEST(KernelsPortable, FillTheRegistersAndNoMore) {
  EXPECT_EQ(kernels_portable.lanes, 8);
  EXPECT_LE(2 * (kernels_portable.gemm_rows + 1) * kernels_portable.gemm_vectors + 1, 32);
  EXPECT_GT(2 * kernels_portable.gemm_rows * kernels_portable.gemm_vectors, 16);
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
