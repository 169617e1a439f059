#include "tests/bench/rates/fma_chains_body.hpp"

namespace znni::bench {
namespace {

struct Registers {
  using Vector [[gnu::vector_size(16)]] = float;
  static constexpr int lanes = 4;
  static constexpr int chains = 24;
};

}  // namespace

FmaChains fma_chains(int) { return make_chains<Registers>(); }

}  // namespace znni::bench
