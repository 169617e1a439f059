#include "proto/convert/base/errors.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(ConvertErrors, NamesAreQuotedOnOneLine) {
  EXPECT_EQ(in_quotes("name"), "'name'");
  EXPECT_EQ(in_quotes("a\nb\x7f"), "'a?b?'");
  EXPECT_EQ(in_quotes(std::string(81, 'x')), "'" + std::string(80, 'x') + "...'");
}

TEST(ConvertErrors, NamesInTexts) {
  EXPECT_EQ(on_one_line("a\tb"), "a?b");
  EXPECT_EQ(on_one_line(std::string(81, 'x')), std::string(80, 'x') + "...");
}

TEST(ConvertErrors, Codes) {
  EXPECT_EQ(corrupt("x").code, ErrorCode::corrupt_file);
  EXPECT_EQ(unsupported("x").code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace znni
