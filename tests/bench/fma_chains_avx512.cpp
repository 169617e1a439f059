#include "tests/bench/fma_chains_body.hpp"

namespace znni::bench {
namespace {

struct Registers {
  using Vector [[gnu::vector_size(64)]] = float;
  static constexpr int lanes = 16;
};

}  // namespace

float fma_chains_16(std::int64_t rounds, float seed) { return fma_chains<Registers>(rounds, seed); }

}  // namespace znni::bench
