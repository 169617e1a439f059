#include "server/rpc/calls/client_counts.hpp"

#include <gtest/gtest.h>

namespace znni::rpc {
namespace {

TEST(ClientCounts, AreOfEachAndForgetThoseWhoHoldNothing) {
  ClientCounts counts;
  counts.add("a");
  counts.add("a");
  counts.add("b");
  EXPECT_EQ(counts.of("a"), 2);
  EXPECT_EQ(counts.of("b"), 1);
  EXPECT_EQ(counts.of("c"), 0);
  EXPECT_EQ(counts.clients(), 2U);
  counts.remove("a");
  EXPECT_EQ(counts.of("a"), 1);
  counts.remove("b");
  EXPECT_EQ(counts.of("b"), 0);
  EXPECT_EQ(counts.clients(), 1U);
}

}  // namespace
}  // namespace znni::rpc
