#include "proto/convert/base/text_scan.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace znni {
namespace {

std::string outside(std::string_view text) {
  TextScan scan;
  std::string result;
  for (const char c : text) {
    if (scan.take(c)) result += c;
  }
  return result;
}

TEST(TextScan, QuotesAndCommentsAreLeftOut) {
  EXPECT_EQ(outside("a: \"b {\" c { # d }\n}"), "a:  c { }");
  EXPECT_EQ(outside("'it \" is' x"), " x");
  EXPECT_EQ(outside("\"\\\"}\" y"), " y");
  EXPECT_EQ(outside("\"# no comment\" z"), " z");
}

TEST(TextScan, OpenQuotes) {
  TextScan scan;
  for (const char c : std::string_view("a \"b")) scan.take(c);
  EXPECT_TRUE(scan.is_in_quotes());
  scan.take('"');
  EXPECT_FALSE(scan.is_in_quotes());
}

}  // namespace
}  // namespace znni
