// A short name for many bytes: tells whether two things are the same, not who made them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "primitives/core/fnv.hpp"

namespace znni {

// Two sums of 64 bits over words of eight bytes: FNV-1a, and the same with every word rotated by 32 bits. Where one
// thing ends and the next begins counts.
class Fingerprint {
 public:
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);

  // Returns 32 hexadecimal digits.
  [[nodiscard]] std::string text() const;

 private:
  void add_word(std::uint64_t word);
  std::uint64_t first_ = fnv_start;
  std::uint64_t second_ = std::rotl(fnv_start, 32);
};

}  // namespace znni
