#include "primitives/core/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace znni {
namespace {

TEST(Result, HoldsAValue) {
  Result<std::string> result(std::string("yes"));
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(*result, "yes");
  EXPECT_EQ(result->size(), 3U);
  result.value() = "no";
  EXPECT_EQ(*result, "no");
}

TEST(Result, HoldsAnError) {
  const Result<int> result = Error{ErrorCode::not_found, "a.onnx: is not there"};
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::not_found);
  EXPECT_EQ(result.error().message, "a.onnx: is not there");
}

TEST(Result, GivesUpItsValueOnce) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

TEST(Result, OfNothingSaysOnlyWhetherItWorked) {
  const Result<void> good;
  EXPECT_TRUE(good.has_value());
  const Result<void> bad = Error{ErrorCode::cancelled, "stopped"};
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().code, ErrorCode::cancelled);
}

TEST(Result, AnErrorIsToldFromFurtherOutside) {
  const Error error{ErrorCode::unsupported, "stride 2"};
  EXPECT_EQ(error.within("conv1").within("model.onnx").message, "model.onnx: conv1: stride 2");
  EXPECT_EQ(error.within("conv1").code, ErrorCode::unsupported);
}

TEST(Result, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code) {
    names.insert(to_string(static_cast<ErrorCode>(code)));
  }
  EXPECT_EQ(static_cast<int>(names.size()), static_cast<int>(ErrorCode::internal) + 1);
}

TEST(ResultDeathTest, TakingTheValueOfAnErrorStopsWithItsMessage) {
  const Result<int> result = Error{ErrorCode::internal, "the reason"};
  EXPECT_DEATH(static_cast<void>(result.value()), "the reason");
  const Result<void> good;
  EXPECT_DEATH(static_cast<void>(good.error()), "holds a value");
}

TEST(EnsureDeathTest, NamesWhatBrokeAndWhere) {
  ensure(true, "never printed");
  EXPECT_DEATH(ensure(false, "two is not three"), "two is not three");
  EXPECT_DEATH(ensure(false, "x"), "result_test.cpp");
}

}  // namespace
}  // namespace znni
