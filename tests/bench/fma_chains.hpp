// Multiply-adds from registers alone: as many floats per second as a processor can. One template, compiled for each
// width of vectors.
#pragma once

#include <cstdint>

namespace znni::bench {

struct FmaChains {
  int lanes = 0;
  // That do not wait for each other: more than latency times multiply-adds a cycle (4 x 2 or more), few enough for the
  // registers.
  int chains = 0;
  // `rounds` multiply-adds on every lane of every chain. Returns a sum of all chains, so that none can be left out;
  // `seed` must not be known when compiling.
  float (*run)(std::int64_t rounds, float seed) = nullptr;

  // Operations of a round, a multiply-add counting two.
  [[nodiscard]] double flops() const { return 2.0 * chains * lanes; }
};

// With the widest registers that code for `simd_floats` uses; stops the program where the processor has no such.
[[nodiscard]] FmaChains fma_chains(int simd_floats);

}  // namespace znni::bench
