#include "primitives/core/fnv.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace znni {
namespace {

std::uint64_t of_text(std::string_view text) {
  std::uint64_t sum = fnv_start;
  for (const char byte : text) sum = fnv_mixed(sum, static_cast<unsigned char>(byte));
  return sum;
}

TEST(Fnv, GivesThePublishedSums) {
  EXPECT_EQ(of_text(""), 0xcbf29ce484222325U);
  EXPECT_EQ(of_text("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(of_text("foobar"), 0x85944171f73967e8U);
}

}  // namespace
}  // namespace znni
