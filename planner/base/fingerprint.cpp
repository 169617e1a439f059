#include "planner/base/fingerprint.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

namespace znni {

void Fingerprint::add_word(std::uint64_t word) {
  first_ = fnv_mixed(first_, word);
  second_ = fnv_mixed(second_, std::rotl(word, 32));
}

void Fingerprint::add(std::span<const std::byte> bytes) {
  add_word(bytes.size());
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t count = std::min(bytes.size(), sizeof(word));
    std::memcpy(&word, bytes.data(), count);
    add_word(word);
    bytes = bytes.subspan(count);
  }
}

void Fingerprint::add(std::string_view text) { add(std::as_bytes(std::span(text))); }

std::string Fingerprint::text() const {
  std::array<char, 40> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx%016llx", static_cast<unsigned long long>(first_),
                static_cast<unsigned long long>(second_));
  return digits.data();
}

}  // namespace znni
