#include "tests/bench/fma_chains_body.hpp"

namespace znni::bench {
namespace {

struct Registers {
  using Vector [[gnu::vector_size(32)]] = float;
  static constexpr int lanes = 8;
};

}  // namespace

float fma_chains_8(std::int64_t rounds, float seed) { return fma_chains<Registers>(rounds, seed); }

}  // namespace znni::bench
