#include "primitives/cpu/fft/fft_sizes.hpp"

#include <algorithm>

namespace znni::cpu {
namespace {

// Returns the smallest `base` * 2^a that is at least n.
std::int64_t doubled_up_to(std::int64_t base, std::int64_t n) {
  while (base < n) base = mul(base, 2);
  return base;
}

// Returns the smallest odd * 3^b 5^c 7^d 2^a that is at least n, or `best` if that is smaller.
std::int64_t smallest_multiple(std::int64_t odd, std::int64_t n, std::int64_t best) {
  for (std::int64_t sevens = odd; sevens < best; sevens = mul(sevens, 7)) {
    for (std::int64_t fives = sevens; fives < best; fives = mul(fives, 5)) {
      for (std::int64_t threes = fives; threes < best; threes = mul(threes, 3)) {
        best = std::min(best, doubled_up_to(threes, n));
      }
    }
  }
  return best;
}

}  // namespace

std::int64_t fft_size(std::int64_t n) {
  std::int64_t best = doubled_up_to(1, n);
  for (const std::int64_t odd : {1, 11, 13}) best = smallest_multiple(odd, n, best);
  return best;
}

Vec3 fft_extent(Vec3 n) { return {fft_size(n.z), fft_size(n.y), fft_size(n.x)}; }

}  // namespace znni::cpu
