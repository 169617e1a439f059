#include "server/rpc/calls/access.hpp"

#include <gtest/gtest.h>

namespace znni::rpc {
namespace {

using grpc::StatusCode;

StatusCode check(const Tokens& tokens, std::string_view authorization, Access access) {
  return Guard(tokens).check(authorization, access).error_code();
}

TEST(Guard, WithoutTokensEverythingIsOpen) {
  EXPECT_EQ(check({}, "", Access::infer), StatusCode::OK);
  EXPECT_EQ(check({}, "", Access::manage), StatusCode::OK);
}

TEST(Guard, AnInferTokenAloneClosesManagement) {
  const Tokens tokens{"abc", ""};
  EXPECT_EQ(check(tokens, "Bearer abc", Access::infer), StatusCode::OK);
  EXPECT_EQ(check(tokens, "Bearer abc", Access::manage), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(check(tokens, "", Access::infer), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(check(tokens, "Bearer ", Access::manage), StatusCode::UNAUTHENTICATED);
}

TEST(Guard, AManageTokenAloneLeavesInferenceOpen) {
  const Tokens tokens{"", "xyz"};
  EXPECT_EQ(check(tokens, "", Access::infer), StatusCode::OK);
  EXPECT_EQ(check(tokens, "", Access::manage), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(check(tokens, "Bearer xyz", Access::manage), StatusCode::OK);
}

TEST(Guard, TokensAreComparedWhole) {
  const Tokens tokens{"abc", "xyz"};
  for (const char* wrong :
       {"Bearer ab", "Bearer abcd", "Bearer abd", "abc", "bearerabc", "Bearer", "Bearer  abc", "Basic abc"}) {
    EXPECT_EQ(check(tokens, wrong, Access::infer), StatusCode::UNAUTHENTICATED) << wrong;
  }
  EXPECT_EQ(check(tokens, "Bearer xyz", Access::infer), StatusCode::OK) << "a manager may infer";
  for (const char* right : {"bearer abc", "BEARER abc", "bEARER abc"}) {
    EXPECT_EQ(check(tokens, right, Access::infer), StatusCode::OK) << right;
  }
  EXPECT_EQ(check(tokens, "bearer ABC", Access::infer), StatusCode::UNAUTHENTICATED) << "of tokens the case counts";
}

}  // namespace
}  // namespace znni::rpc
