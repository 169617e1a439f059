#include "primitives/core/precision.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(CorePrecision, WordsAreReadBack) {
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    EXPECT_EQ(parse_precision(to_string(precision)), precision);
  }
  for (const char* word : {"", "fp16", "BF16", "fp32 "}) EXPECT_FALSE(parse_precision(word)) << word;
}

TEST(CorePrecision, OfALayerIsThatOfItsTensorsAndItsProducts) {
  EXPECT_EQ(precision_of({}, {}, {}), Precision::fp32);
  EXPECT_EQ(precision_of({{"tf32", 0}, {"form", 1}}, last_f32, last_f32), Precision::fp32);
  EXPECT_EQ(precision_of({{"form", 1}, {"tf32", 1}}, last_f32, last_f32), Precision::tf32);
  EXPECT_EQ(precision_of({}, last_f32, last_bf16), Precision::bf16);
  EXPECT_EQ(precision_of({{"tf32", 1}}, last_bf16, {}), Precision::bf16);
  EXPECT_EQ(precision_of({{"bf16", 1}}, {}, {}), Precision::bf16);
  EXPECT_EQ(precision_of({{"bf16", 0}}, {}, {}), Precision::fp32);
}

TEST(CorePrecision, AllowsOneFormatMoreWithEachStep) {
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    const std::span<const Format> formats = edge_formats(precision);
    EXPECT_EQ(std::ssize(formats), static_cast<int>(precision) + 1);
    EXPECT_EQ(formats.front(), planar_f32);
    EXPECT_EQ(precision_of(formats.back()), precision);
  }
  EXPECT_FALSE(precision_of({ElementType::f16, Layout::planar}));
}

TEST(CorePrecision, StandsFromStrictToCoarse) {
  EXPECT_LT(Precision::fp32, Precision::tf32);
  EXPECT_LT(Precision::tf32, Precision::bf16);
}

}  // namespace
}  // namespace znni
