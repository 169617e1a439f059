#include "primitives/cpu/copy_past_caches.hpp"

#include <algorithm>
#include <cstring>

#include "primitives/cpu/eight.hpp"

namespace znni::cpu {
namespace {

constexpr std::int64_t vector_bytes = Eight::lanes * sizeof(float);
constexpr std::int64_t unrolled = 4;

void copy_plainly(std::byte* to, const std::byte* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void stream_vectors(float* to, const float* from, std::int64_t vectors) {
  const float* const end = from + vectors * Eight::lanes;
  for (; end - from >= unrolled * Eight::lanes; from += unrolled * Eight::lanes, to += unrolled * Eight::lanes) {
    for (std::int64_t i = 0; i < unrolled; ++i)
      Eight::stream(to + i * Eight::lanes, Eight::load(from + i * Eight::lanes));
  }
  for (; from < end; from += Eight::lanes, to += Eight::lanes) Eight::stream(to, Eight::load(from));
}

}  // namespace

void copy_past_caches(std::byte* to, const std::byte* from, std::int64_t bytes) {
  const auto behind = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(to) % vector_bytes);
  const std::int64_t head = std::min(bytes, (vector_bytes - behind) % vector_bytes);
  const std::int64_t vectors = (bytes - head) / vector_bytes;
  const std::int64_t done = head + vectors * vector_bytes;
  copy_plainly(to, from, head);
  stream_vectors(reinterpret_cast<float*>(to + head), reinterpret_cast<const float*>(from + head), vectors);
  copy_plainly(to + done, from + done, bytes - done);
  Eight::fence();
}

}  // namespace znni::cpu
