#include "server/rpc/connections/received.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>

#include "server/rpc/connections/listening_sockets.hpp"
#include "server/rpc/connections/owned_descriptor.hpp"
#include "tests/server/rpc/tcp_client.hpp"

namespace znni::rpc {
namespace {

void wait_for_input(int descriptor) {
  pollfd one = {descriptor, POLLIN, 0};
  ASSERT_EQ(poll(&one, 1, -1), 1);
}

TEST(Received, CountsWhatCameAndTellsWhetherItWasRead) {
  auto sockets = open_listening_sockets({"127.0.0.1:0"});
  ASSERT_TRUE(sockets);
  const int listening = sockets->front().socket.number();
  const TcpClient client(sockets->front().address.port());
  wait_for_input(listening);
  const OwnedDescriptor connection(accept(listening, nullptr, nullptr));
  EXPECT_EQ(received_by(connection.number())->bytes, 0U);
  EXPECT_TRUE(received_by(connection.number())->is_read);
  client.send("abc");
  wait_for_input(connection.number());
  EXPECT_EQ(received_by(connection.number())->bytes, 3U);
  EXPECT_FALSE(received_by(connection.number())->is_read);
  std::array<char, 3> all{};
  EXPECT_EQ(recv(connection.number(), all.data(), all.size(), MSG_WAITALL), 3);
  EXPECT_TRUE(received_by(connection.number())->is_read);
}

TEST(Received, KnowsNothingOfOtherDescriptors) {
  EXPECT_FALSE(received_by(-1));
  EXPECT_FALSE(received_by(0));
}

}  // namespace
}  // namespace znni::rpc
