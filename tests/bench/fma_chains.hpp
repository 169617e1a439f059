// Multiply-adds from registers alone: as many floats per second as a processor can. Its two sources are one template,
// compiled for two widths of vectors.
#pragma once

#include <cstdint>

namespace znni::bench {

// Chains that do not wait for each other: more than latency times multiply-adds a cycle (4 x 2), few enough for the
// 16 registers of AVX2.
inline constexpr int fma_chain_count = 12;

// `rounds` multiply-adds on every lane of every chain: 2 * fma_chain_count * rounds * lanes operations. Returns a sum
// of all chains, so that none can be left out; `seed` must not be known when compiling.
[[nodiscard]] float fma_chains_8(std::int64_t rounds, float seed);   // AVX2 and FMA
[[nodiscard]] float fma_chains_16(std::int64_t rounds, float seed);  // AVX-512; stops the program elsewhere

}  // namespace znni::bench
