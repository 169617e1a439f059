#include "server/rpc/base/bytes.hpp"

#include <gtest/gtest.h>

namespace znni::rpc {
namespace {

TEST(Bytes, HoldsWhatWasAskedFor) {
  Result<Bytes> block = Bytes::allocate(1000);
  ASSERT_TRUE(block);
  EXPECT_EQ(block->size(), 1000);
  EXPECT_EQ(block->span().size(), 1000U);
  block->span().back() = std::byte{7};
  EXPECT_EQ(block->data()[999], std::byte{7});
}

TEST(Bytes, ZeroBytesIsLegal) { EXPECT_EQ(Bytes::allocate(0)->size(), 0); }

TEST(Bytes, WhatTheSystemDoesNotHaveIsAnError) {
  const Result<Bytes> block = Bytes::allocate(std::int64_t{1} << 60);
  ASSERT_FALSE(block);
  EXPECT_EQ(block.error().code, ErrorCode::over_budget);
}

TEST(Bytes, TrimmingIsHarmless) {
  trim_heap_after(0);
  trim_heap_after(std::int64_t{1} << 40);
}

}  // namespace
}  // namespace znni::rpc
