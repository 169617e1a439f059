#include "primitives/core/precision.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

constexpr Format last = {ElementType::f32, Layout::channels_last};
constexpr Format last_bf16 = {ElementType::bf16, Layout::channels_last};

TEST(CorePrecision, WordsAreReadBack) {
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    EXPECT_EQ(parse_precision(to_string(precision)), precision);
  }
  for (const char* word : {"", "fp16", "BF16", "fp32 "}) EXPECT_FALSE(parse_precision(word)) << word;
}

TEST(CorePrecision, OfALayerIsThatOfItsTensorsAndItsProducts) {
  EXPECT_EQ(precision_of({}, {}, {}), Precision::fp32);
  EXPECT_EQ(precision_of({{"tf32", 0}, {"form", 1}}, last, last), Precision::fp32);
  EXPECT_EQ(precision_of({{"form", 1}, {"tf32", 1}}, last, last), Precision::tf32);
  EXPECT_EQ(precision_of({}, last, last_bf16), Precision::bf16);
  EXPECT_EQ(precision_of({{"tf32", 1}}, last_bf16, {}), Precision::bf16);
}

TEST(CorePrecision, StandsFromStrictToCoarse) {
  EXPECT_LT(Precision::fp32, Precision::tf32);
  EXPECT_LT(Precision::tf32, Precision::bf16);
}

}  // namespace
}  // namespace znni
