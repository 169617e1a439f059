#include "server/rpc/base/client_text.hpp"

#include <gtest/gtest.h>

namespace znni::rpc {
namespace {

TEST(ClientText, ControlCharactersBecomeSpaces) {
  EXPECT_EQ(one_line("a\r\nb\tc\x7f"
                     "d",
                     100),
            "a  b c d");
}

TEST(ClientText, ShortTextStaysWhole) {
  EXPECT_EQ(one_line("", 10), "");
  EXPECT_EQ(one_line("0123456789", 10), "0123456789");
}

TEST(ClientText, LongTextIsCutAtTheLimit) {
  EXPECT_EQ(one_line("0123456789a", 10), "0123456...");
  EXPECT_EQ(one_line(std::string(1'000'000, 'x'), 80).size(), 80U);
}

TEST(ClientText, CutsBetweenCharacters) {
  const std::string two_bytes_each = "\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9";
  EXPECT_EQ(one_line(two_bytes_each, 10), "\u00e9\u00e9\u00e9...");
}

TEST(ClientText, QuotedNamesStayShort) {
  EXPECT_EQ(in_quotes("net"), "'net'");
  EXPECT_EQ(in_quotes(std::string(1000, 'n')).size(), 82U);
}

}  // namespace
}  // namespace znni::rpc
