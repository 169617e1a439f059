#include "server/rpc/connections/read_blocks.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace znni::rpc {
namespace {

constexpr const char* variable = "GRPC_EXPERIMENTS";

TEST(ReadBlocks, AreAskedFor) {
  unsetenv(variable);
  read_in_blocks();
  EXPECT_STREQ(std::getenv(variable), "-tcp_read_chunks");
}

TEST(ReadBlocks, LeaveTheUsersOtherWishes) {
  setenv(variable, "tcp_read_chunks,tcp_rcv_lowat", 1);
  read_in_blocks();
  EXPECT_STREQ(std::getenv(variable), "tcp_read_chunks,tcp_rcv_lowat,-tcp_read_chunks");
  unsetenv(variable);
}

}  // namespace
}  // namespace znni::rpc
