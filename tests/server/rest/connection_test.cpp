#include "server/rest/connection.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "server/rpc/connections/owned_descriptor.hpp"
#include "server/rpc/connections/socket_address.hpp"
#include "tests/server/rpc/tcp_client.hpp"

namespace znni::rest {
namespace {

using rpc::OwnedDescriptor;
using rpc::SocketAddress;
using rpc::TcpClient;

class ConnectionTest : public testing::Test {
 protected:
  void SetUp() override {
    const SocketAddress any = *SocketAddress::parse("127.0.0.1:0");
    ASSERT_EQ(bind(listening_.number(), any.data(), any.size()), 0);
    ASSERT_EQ(listen(listening_.number(), 8), 0);
    const SocketAddress own = *SocketAddress::of_socket(listening_.number());
    own_ = own.text();
    client_.connect(own.port());
    accepted_ = OwnedDescriptor(accept(listening_.number(), nullptr, nullptr));
  }
  [[nodiscard]] std::optional<Connection> found() const { return Connection::find(client_.name(), own_); }

  OwnedDescriptor listening_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::string own_;
  TcpClient client_;
  OwnedDescriptor accepted_;
};

TEST_F(ConnectionTest, IsFoundByBothItsEnds) {
  EXPECT_TRUE(found());
  EXPECT_FALSE(Connection::find(client_.name(), "127.0.0.1:1")) << "another port of this process";
  EXPECT_FALSE(Connection::find(own_, own_)) << "no connection";
  EXPECT_FALSE(Connection::find("127.0.0.2:1", own_));
  EXPECT_FALSE(Connection::find("nonsense", own_));
  EXPECT_FALSE(Connection::find("[fe80::1%eth0]:5", own_));
  const std::string port = client_.name().substr(client_.name().rfind(':'));
  EXPECT_TRUE(Connection::find("[::ffff:127.0.0.1]" + port, own_)) << "as a socket of IPv6 tells it";
}

TEST_F(ConnectionTest, TellsWhenTheClientHasClosedIt) {
  const auto connection = found();
  ASSERT_TRUE(connection);
  client_.send("a request");
  EXPECT_FALSE(connection->is_closed());
  client_.close();
  while (!connection->is_closed()) std::this_thread::yield();
}

TEST_F(ConnectionTest, EndsTheWaitOfOneWhoReads) {
  const auto connection = found();
  ASSERT_TRUE(connection);
  std::jthread reader([this] {
    char byte = 0;
    EXPECT_EQ(recv(accepted_.number(), &byte, 1, 0), 0);
  });
  connection->end_reading();
  reader.join();
  EXPECT_EQ(send(accepted_.number(), "x", 1, MSG_NOSIGNAL), 1) << "an answer can be sent";
}

TEST_F(ConnectionTest, EndsIt) {
  const auto connection = found();
  ASSERT_TRUE(connection);
  connection->end();
  EXPECT_TRUE(client_.is_closed());
}

}  // namespace
}  // namespace znni::rest
