#include "server/rest/http_status.hpp"

#include <gtest/gtest.h>

namespace znni::rest {
namespace {

TEST(HttpStatus, EveryCodeHasOne) {
  EXPECT_EQ(http_status(grpc::StatusCode::OK, ""), 200);
  EXPECT_EQ(http_status(grpc::StatusCode::INVALID_ARGUMENT, "malformed"), 400);
  EXPECT_EQ(http_status(grpc::StatusCode::OUT_OF_RANGE, ""), 400);
  EXPECT_EQ(http_status(grpc::StatusCode::FAILED_PRECONDITION, ""), 400);
  EXPECT_EQ(http_status(grpc::StatusCode::UNAUTHENTICATED, ""), 401);
  EXPECT_EQ(http_status(grpc::StatusCode::PERMISSION_DENIED, ""), 403);
  EXPECT_EQ(http_status(grpc::StatusCode::NOT_FOUND, "not_found"), 404);
  EXPECT_EQ(http_status(grpc::StatusCode::ALREADY_EXISTS, ""), 409);
  EXPECT_EQ(http_status(grpc::StatusCode::ABORTED, ""), 409);
  EXPECT_EQ(http_status(grpc::StatusCode::CANCELLED, ""), 499);
  EXPECT_EQ(http_status(grpc::StatusCode::UNIMPLEMENTED, "unsupported"), 501);
  EXPECT_EQ(http_status(grpc::StatusCode::UNAVAILABLE, "queue_full"), 503);
  EXPECT_EQ(http_status(grpc::StatusCode::DEADLINE_EXCEEDED, "deadline"), 504);
  EXPECT_EQ(http_status(grpc::StatusCode::INTERNAL, ""), 500);
  EXPECT_EQ(http_status(grpc::StatusCode::UNKNOWN, ""), 500);
}

TEST(HttpStatus, WhatNeverFitsIsNotToBeTriedAgain) {
  EXPECT_EQ(http_status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too_large"), 413);
  EXPECT_EQ(http_status(grpc::StatusCode::RESOURCE_EXHAUSTED, "memory"), 429);
}

}  // namespace
}  // namespace znni::rest
