#include "server/rpc/base/status_map.hpp"

#include <gtest/gtest.h>

#include <set>

namespace znni::rpc {
namespace {

TEST(StatusMap, EveryCodeHasItsStatus) {
  EXPECT_EQ(status_code(ErrorCode::invalid_argument), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status_code(ErrorCode::not_found), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status_code(ErrorCode::unsupported), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(status_code(ErrorCode::over_budget), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status_code(ErrorCode::device_failure), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(status_code(ErrorCode::device_lost), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status_code(ErrorCode::corrupt_file), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(status_code(ErrorCode::unavailable), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status_code(ErrorCode::deadline_exceeded), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(status_code(ErrorCode::cancelled), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(status_code(ErrorCode::internal), grpc::StatusCode::INTERNAL);
}

TEST(StatusMap, KeepsTheMessageOnOneShortLine) {
  const grpc::Status status = to_status(Error{ErrorCode::not_found, "a\nb"});
  EXPECT_EQ(status.error_message(), "a b");
  EXPECT_LE(to_status(Error{ErrorCode::internal, std::string(100'000, 'x')}).error_message().size(), max_message_bytes);
}

TEST(StatusMap, SuccessIsOk) {
  EXPECT_TRUE(to_status(Result<void>{}).ok());
  EXPECT_FALSE(to_status(Result<void>(Error{ErrorCode::internal, "x"})).ok());
}

TEST(StatusMap, NamesAreThoseOfGrpc) {
  EXPECT_EQ(name_of(grpc::StatusCode::OK), "OK");
  EXPECT_EQ(name_of(grpc::StatusCode::INVALID_ARGUMENT), "INVALID_ARGUMENT");
  EXPECT_EQ(name_of(grpc::StatusCode::RESOURCE_EXHAUSTED), "RESOURCE_EXHAUSTED");
  EXPECT_EQ(name_of(grpc::StatusCode::UNAVAILABLE), "UNAVAILABLE");
  EXPECT_EQ(name_of(grpc::StatusCode::UNAUTHENTICATED), "UNAUTHENTICATED");
  std::set<std::string_view> names;
  for (int code = 0; code <= 16; ++code) names.insert(name_of(static_cast<grpc::StatusCode>(code)));
  EXPECT_EQ(names.size(), 17U);
}

}  // namespace
}  // namespace znni::rpc
