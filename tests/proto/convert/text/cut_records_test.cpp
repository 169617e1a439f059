#include "proto/convert/text/cut_records.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

constexpr std::string_view whole = "record {\n  a: \"x { y\"\n}\n";

TEST(CutRecords, WholeRecordsStay) {
  for (const std::string& text : {std::string(), std::string(whole), std::string(whole) + std::string(whole),
                                  "# a comment with { and \"\n" + std::string(whole)}) {
    const WithoutCutRecords result = without_cut_records(text);
    EXPECT_EQ(result.text, text);
    EXPECT_TRUE(result.lines.empty());
  }
}

TEST(CutRecords, ACutEndIsBlanked) {
  const std::string first(whole);
  const std::string second = "record {\n  name: \"quote \\\" and } brace\"\n  inner {\n    b: 1\n  }\n}\n";
  for (std::size_t length = 1; length + 2 < second.size(); ++length) {
    const WithoutCutRecords result = without_cut_records(first + second.substr(0, length));
    EXPECT_EQ(result.lines, std::vector<int>{4}) << length;
    EXPECT_EQ(result.text.size(), first.size() + length);
    EXPECT_EQ(result.text.substr(0, first.size() - 1), first.substr(0, first.size() - 1));
    EXPECT_EQ(result.text.find_first_not_of(" \n", first.size()), std::string::npos) << length;
  }
}

TEST(CutRecords, OneInTheMiddle) {
  const std::string text = std::string(whole) + "record {\n  a: \"half\n" + std::string(whole);
  const WithoutCutRecords result = without_cut_records(text);
  EXPECT_EQ(result.lines, std::vector<int>{4});
  EXPECT_TRUE(result.text.ends_with(whole));
  EXPECT_TRUE(result.text.starts_with(whole));
  EXPECT_EQ(result.text.find("half"), std::string::npos);
}

TEST(CutRecords, OtherTextIsNotTakenForACut) {
  const std::string text = std::string(whole) + "other: 3\n";
  EXPECT_TRUE(without_cut_records(text).lines.empty());
}

}  // namespace
}  // namespace znni
