#include "tests/bench/rates/fma_chains_body.hpp"

namespace znni::bench {
namespace {

struct Registers {
  using Vector [[gnu::vector_size(32)]] = float;
  static constexpr int lanes = 8;
  static constexpr int chains = 12;
};

}  // namespace

extern const FmaChains fma_chains_avx2;
constinit const FmaChains fma_chains_avx2 = make_chains<Registers>();

}  // namespace znni::bench
