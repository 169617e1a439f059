#include "tests/primitives/cpu/fft_tiled/kernels_check.hpp"

namespace znni::cpu::fft_tiled {

extern const TileKernels kernels_avx512;

namespace {

INSTANTIATE_TEST_SUITE_P(Avx512, KernelsCheck, testing::Values(16));

// Accumulators, a row of weights and one value of a tile all fit into registers.
TEST(KernelsAvx512, FillTheRegistersAndNoMore) {
  const std::int64_t registers = 2 * kernels_avx512.lanes;
  EXPECT_EQ(kernels_avx512.lanes, 16);
  EXPECT_LE((kernels_avx512.gemm_rows + 1) * kernels_avx512.gemm_vectors + 1, registers);
  EXPECT_GT(kernels_avx512.gemm_rows * kernels_avx512.gemm_vectors, registers / 2);
}

}  // namespace
}  // namespace znni::cpu::fft_tiled
