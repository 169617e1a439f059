#include "tests/bench/rates/fma_chains_body.hpp"

namespace znni::bench {
namespace {

struct Registers {
  using Vector [[gnu::vector_size(64)]] = float;
  static constexpr int lanes = 16;
  static constexpr int chains = 12;
};

}  // namespace

extern const FmaChains fma_chains_avx512;
constinit const FmaChains fma_chains_avx512 = make_chains<Registers>();

}  // namespace znni::bench
