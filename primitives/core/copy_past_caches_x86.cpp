#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "primitives/core/copy_past_caches.hpp"

namespace znni {
namespace {

constexpr std::int64_t unrolled = 4;
constexpr auto vector_bytes = static_cast<std::int64_t>(sizeof(__m256i));

void copy_plainly(std::byte* to, const std::byte* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

// Copies with non-temporal stores. `to` is aligned to a vector.
void stream(__m256i* to, const __m256i* from, std::int64_t vectors) {
  std::int64_t i = 0;
  for (; i + unrolled <= vectors; i += unrolled) {
    for (std::int64_t j = i; j < i + unrolled; ++j) _mm256_stream_si256(to + j, _mm256_loadu_si256(from + j));
  }
  for (; i < vectors; ++i) _mm256_stream_si256(to + i, _mm256_loadu_si256(from + i));
}

}  // namespace

void copy_past_caches(std::byte* to, const std::byte* from, std::int64_t bytes) {
  const auto behind = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % sizeof(__m256i));
  const std::int64_t head = std::min(bytes, (vector_bytes - behind) % vector_bytes);
  const std::int64_t vectors = (bytes - head) / vector_bytes;
  const std::int64_t done = head + vectors * vector_bytes;
  copy_plainly(to, from, head);
  stream(reinterpret_cast<__m256i*>(to + head), reinterpret_cast<const __m256i*>(from + head), vectors);
  copy_plainly(to + done, from + done, bytes - done);
  _mm_sfence();
}

}  // namespace znni
