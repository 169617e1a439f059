#include "server/escape.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(Escape, PlainTextIsQuoted) {
  EXPECT_EQ(json_text(""), "\"\"");
  EXPECT_EQ(json_text("a b"), "\"a b\"");
}

TEST(Escape, SpecialCharacters) {
  EXPECT_EQ(json_text("\"\\\n\r\t"), R"("\"\\\n\r\t")");
  EXPECT_EQ(json_text(std::string_view("\0\x1b\x7f", 3)), R"("\u0000\u001b\u007f")");
}

TEST(Escape, WellFormedUtf8StaysAsItIs) {
  const std::string text = "\u00e9\u20ac\U0001f52c";
  EXPECT_EQ(json_text(text), "\"" + text + "\"");
}

TEST(Escape, BrokenUtf8IsReplacedByteByByte) {
  EXPECT_EQ(json_text("a\xff"
                      "b"),
            R"("a\ufffdb")");
  EXPECT_EQ(json_text("\xe2\x82"), R"("\ufffd\ufffd")");                      // cut short
  EXPECT_EQ(json_text("\xc0\xaf"), R"("\ufffd\ufffd")");                      // overlong, 2 bytes
  EXPECT_EQ(json_text("\xe0\x80\xaf"), R"("\ufffd\ufffd\ufffd")");            // overlong, 3 bytes
  EXPECT_EQ(json_text("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");            // surrogate
  EXPECT_EQ(json_text("\xf4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");  // beyond U+10FFFF
}

}  // namespace
}  // namespace znni
