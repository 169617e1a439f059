// The template behind fma_chains.hpp. Only the source of each instruction set includes it.
#pragma once

#include <cstdint>

#include "tests/bench/rates/fma_chains.hpp"

namespace znni::bench {
namespace {

// Runs the chains. Registers::Vector holds Registers::lanes floats; the processor has registers for Registers::chains
// of them.
template <class Registers>
float run_chains(std::int64_t rounds, float seed) {
  using Vector = typename Registers::Vector;
  constexpr int lanes = Registers::lanes;
  constexpr int chains = Registers::chains;
  Vector chain[chains];
  Vector factor;
  Vector more;
  for (int lane = 0; lane < lanes; ++lane) {
    factor[lane] = 1.0F - seed * 1e-3F;
    more[lane] = seed * 1e-3F;
    for (int i = 0; i < chains; ++i) chain[i][lane] = seed * static_cast<float>(i * lanes + lane);
  }
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 24
    for (int i = 0; i < chains; ++i) chain[i] = chain[i] * factor + more;
  }
  float sum = 0;
  for (const Vector& one : chain) {
    for (int lane = 0; lane < lanes; ++lane) sum += one[lane];
  }
  return sum;
}

template <class Registers>
constexpr FmaChains make_chains() {
  return {Registers::lanes, Registers::chains, &run_chains<Registers>};
}

}  // namespace
}  // namespace znni::bench
