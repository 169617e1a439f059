#include "tests/primitives/cpu/fft_tiled/kernels_check.hpp"

namespace znni::cpu::fft_tiled {

extern const TileKernels kernels_avx2;

namespace {

INSTANTIATE_TEST_SUITE_P(Avx2, KernelsCheck, testing::Values(8));

// Accumulators, a row of weights and one value of a tile all fit into registers.
TEST(KernelsAvx2, FillTheRegistersAndNoMore) {
  const std::int64_t registers = 2 * kernels_avx2.lanes;
  EXPECT_EQ(kernels_avx2.lanes, 8);
  EXPECT_LE((kernels_avx2.gemm_rows + 1) * kernels_avx2.gemm_vectors + 1, registers);
  EXPECT_GT(kernels_avx2.gemm_rows * kernels_avx2.gemm_vectors, registers / 2);
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
