#include "proto/convert/text/plan_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace znni {
namespace {

TEST(PlanWords, EveryFormatThereAndBack) {
  for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::u16, ElementType::u8}) {
    for (const Layout layout : {Layout::planar, Layout::blocked16, Layout::blocked8, Layout::channels_last}) {
      const Format format{type, layout};
      const Result<Format> again = parse_format("in", to_string(format));
      ASSERT_TRUE(again) << to_string(format);
      EXPECT_EQ(*again, format);
    }
  }
}

TEST(PlanWords, UnknownFormatsAreErrors) {
  for (const std::string& text :
       {std::string(), std::string("f32"), std::string("f32:planar "), std::string("f64:planar")}) {
    const Result<Format> format = parse_format("out", text);
    ASSERT_FALSE(format);
    EXPECT_THAT(format.error().message,
                testing::StartsWith("out is '" + text + "'; known are: f32:planar, f32:blocked16"));
  }
}

TEST(PlanWords, Variants) {
  const Variant variant = {{"tile", 24}, {"engine", -1}};
  text::Plan::Step step;
  set_variant(step.mutable_setting(), variant);
  EXPECT_EQ(step.setting_size(), 2);
  EXPECT_EQ(variant_of(step.setting()), variant);
}

TEST(PlanWords, EveryBasisThereAndBack) {
  const std::map<Basis, std::string> words = {{Basis::model, "model"},
                                              {Basis::smoothed, "smoothed"},
                                              {Basis::recorded, "recorded"},
                                              {Basis::measured, "measured"}};
  for (const auto& [basis, word] : words) {
    EXPECT_EQ(text::Plan::Basis_Name(message_of(basis)), word);
    EXPECT_EQ(basis_of(message_of(basis)), basis) << word;
  }
}

}  // namespace
}  // namespace znni
