#include "proto/convert/base/extents.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(Extents, OneValueIsForEveryAxis) {
  EXPECT_EQ(*extent_of("k", std::vector<std::int64_t>{4}, 3), Vec3::cube(4));
  EXPECT_EQ(*extent_of("k", std::vector<std::int64_t>{4}, 2), (Vec3{1, 4, 4}));
}

TEST(Extents, OneValuePerAxis) {
  EXPECT_EQ(*extent_of("k", std::vector<std::int64_t>{2, 3, 4}, 3), (Vec3{2, 3, 4}));
  EXPECT_EQ(*extent_of("k", std::vector<std::int64_t>{3, 4}, 2), (Vec3{1, 3, 4}));
}

TEST(Extents, AnotherNumberOfValuesIsAnError) {
  EXPECT_EQ(extent_of("k", std::vector<std::int64_t>{2, 3}, 3).error().message, "k has 2 values; 1 or 3 are right");
  EXPECT_EQ(extent_of("k", std::vector<std::int64_t>{}, 2).error().message, "k has 0 values; 1 or 2 are right");
  EXPECT_FALSE(extent_of("k", std::vector<std::int64_t>{1, 2, 3, 4}, 3));
}

TEST(Extents, ValuesOfIsTheInverse) { EXPECT_EQ(*extent_of("k", values_of({5, 6, 7}), 3), (Vec3{5, 6, 7})); }

}  // namespace
}  // namespace znni
