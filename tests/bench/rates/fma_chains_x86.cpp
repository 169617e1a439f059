#include "tests/bench/rates/fma_chains.hpp"

namespace znni::bench {

extern const FmaChains fma_chains_avx512;
extern const FmaChains fma_chains_avx2;

FmaChains fma_chains(int simd_floats) { return simd_floats == 16 ? fma_chains_avx512 : fma_chains_avx2; }

}  // namespace znni::bench
