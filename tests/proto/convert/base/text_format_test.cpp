#include "proto/convert/base/text_format.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/config.pb.h"
#include "proto/plan.pb.h"

namespace znni {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string format_refusal(std::string_view text) {
  text::Plan message;
  const Result<void> parsed = parse_text(text, message);
  return parsed ? "" : parsed.error().message;
}

TEST(TextFormat, ParsesAndPrints) {
  text::Plan message;
  ASSERT_TRUE(
      parse_text("key { network: \"n\xc3\xa9t\" }\nrung { pass_input: [1, 2, 3] modes: [plain, fragments] }", message));
  EXPECT_EQ(print_text(message),
            "key {\n  network: \"n\xc3\xa9t\"\n}\nrung {\n  pass_input: [1, 2, 3]\n  modes: [plain, fragments]\n}\n");
}

TEST(TextFormat, UnknownFieldsAreErrorsThatListTheKnown) {
  EXPECT_EQ(format_refusal("key {\n  networks: \"n\"\n}"),
            "line 2: znni.text.Plan.Key has no field 'networks'; it has: network, node, device, threads, "
            "memory_limit, strategy, search_space, precision, pins, volume, endless");
}

TEST(TextFormat, OtherErrorsNameTheLine) {
  EXPECT_THAT(format_refusal("\n\nkey {"), StartsWith("line 3: "));
  EXPECT_THAT(format_refusal("memory { weights: 99999999999999999999 }"), StartsWith("line 1: "));
  EXPECT_THAT(format_refusal("memory { weights: 1 weights: 2 }"), HasSubstr("weights"));
  EXPECT_THAT(format_refusal("\x01\x02"), StartsWith("line 1: "));
}

TEST(TextFormat, DeepNestingDoesNotRecurseWithoutEnd) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += "a {";
  EXPECT_NE(format_refusal(text), "");
  std::string known = "rung { segment { step { ";
  for (int i = 0; i < 100000; ++i) known += "setting { ";
  EXPECT_NE(format_refusal(known), "");
}

TEST(TextFormat, SkipsWhatItMay) {
  inference::ModelConfig message;
  const auto skip = [](const UnknownField& field) { return field.field == "instance_group"; };
  const Result<std::vector<UnknownField>> skipped =
      parse_text_skipping("name: \"m\"\ninstance_group [ { count: 2 kind: KIND_CPU } ]\nbackend: \"b\"", message, skip);
  ASSERT_TRUE(skipped) << skipped.error().message;
  ASSERT_EQ(skipped->size(), 1U);
  EXPECT_EQ((*skipped)[0].line, 2);
  EXPECT_EQ((*skipped)[0].message, "inference.ModelConfig");
  EXPECT_EQ(message.backend(), "b");
  EXPECT_FALSE(parse_text_skipping("name: \"m\" instance_groups {}", message, skip));
}

// An unknown field tells which element of the message's own fields lacks it.
TEST(TextFormat, UnknownFieldsOfElements) {
  inference::ModelConfig message;
  const Result<std::vector<UnknownField>> skipped =
      parse_text_skipping("input { a: 1 } input { name: 'i' } input [ { b: 1 }, { c: 1 } ] d: 1", message,
                          [](const UnknownField&) { return true; });
  ASSERT_TRUE(skipped) << skipped.error().message;
  std::vector<int> elements;
  for (const UnknownField& field : *skipped) elements.push_back(field.element);
  EXPECT_EQ(elements, (std::vector<int>{0, 2, 3, -1}));
}

TEST(TextFormat, ListsNeedNoColon) {
  inference::ModelConfig message;
  const auto skip = [](const UnknownField&) { return true; };
  const Result<std::vector<UnknownField>> skipped = parse_text_skipping(
      "a [ { b [ { c: 1 } , { } ] } ]\nname: \"x [ y\" # d [\ninput [ { name: \"i\" } ]\n", message, skip);
  ASSERT_TRUE(skipped) << skipped.error().message;
  EXPECT_EQ(message.name(), "x [ y");
  ASSERT_EQ(message.input_size(), 1);
  EXPECT_EQ(message.input(0).name(), "i");
}

}  // namespace
}  // namespace znni
