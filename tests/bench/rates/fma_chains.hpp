// Multiply-adds on registers alone, which measure a processor's peak rate. One template is compiled for each vector
// width.
#pragma once

#include <cstdint>

namespace znni::bench {

struct FmaChains {
  int lanes = 0;
  // Number of independent chains: at least latency times multiply-adds per cycle (4 x 2 or more), and few enough for
  // the registers.
  int chains = 0;
  // Does `rounds` multiply-adds on every lane of every chain. Returns a sum of all chains, so that the compiler cannot
  // leave out any. `seed` must not be known at compile time.
  float (*run)(std::int64_t rounds, float seed) = nullptr;

  // Returns the operations of a round; a multiply-add counts as two.
  [[nodiscard]] double flops() const { return 2.0 * chains * lanes; }
};

// Returns the chains for the widest registers that code for `simd_floats` uses. They stop the program if the processor
// lacks such registers.
[[nodiscard]] FmaChains fma_chains(int simd_floats);

}  // namespace znni::bench
