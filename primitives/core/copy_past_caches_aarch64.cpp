#include <cstring>

#include "primitives/core/copy_past_caches.hpp"

namespace znni {

void copy_past_caches(std::byte* to, const std::byte* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace znni
