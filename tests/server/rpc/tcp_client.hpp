// A bare connection to a port of this machine.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string>

#include "server/rpc/connections/owned_descriptor.hpp"
#include "server/rpc/connections/socket_address.hpp"

namespace znni::rpc {

class TcpClient {
 public:
  TcpClient() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  explicit TcpClient(int port) : TcpClient() { connect(port); }

  void connect(int port) {
    const SocketAddress to = *SocketAddress::parse("127.0.0.1:" + std::to_string(port));
    EXPECT_EQ(::connect(socket_.number(), to.data(), to.size()), 0);
  }
  // Waits until the other end has closed the connection; false if something was received instead.
  [[nodiscard]] bool is_closed() const {
    pollfd one = {socket_.number(), POLLIN, 0};
    constexpr int longest_ms = 600'000;  // a bound for a hang
    char byte = 0;
    return poll(&one, 1, longest_ms) == 1 && recv(socket_.number(), &byte, 1, 0) <= 0;
  }
  // Sends until all is sent or the other end has closed.
  void send(const std::string& bytes) const {
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t more = ::send(socket_.number(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (more <= 0) return;
      sent += static_cast<std::size_t>(more);
    }
  }
  // Receives until the other end closes the connection; false if it does not.
  [[nodiscard]] bool ends() const {
    pollfd one = {socket_.number(), POLLIN, 0};
    constexpr int longest_ms = 600'000;  // a bound for a hang
    char byte = 0;
    while (poll(&one, 1, longest_ms) == 1) {
      if (recv(socket_.number(), &byte, 1, 0) <= 0) return true;
    }
    return false;
  }
  void send_no_more() const { shutdown(socket_.number(), SHUT_WR); }
  // Returns the next `count` bytes; fewer if the other end closes the connection before.
  [[nodiscard]] std::string receive(std::size_t count) const {
    std::string bytes(count, '\0');
    const ssize_t more = recv(socket_.number(), bytes.data(), count, MSG_WAITALL);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(more, 0)));
    return bytes;
  }
  // Returns all that comes until the other end closes the connection.
  [[nodiscard]] std::string received() const {
    std::string all;
    std::array<char, 4096> piece{};
    for (ssize_t more = 1; more > 0;) {
      more = recv(socket_.number(), piece.data(), piece.size(), 0);
      if (more > 0) all.append(piece.data(), static_cast<std::size_t>(more));
    }
    return all;
  }
  [[nodiscard]] std::string name() const { return SocketAddress::of_socket(socket_.number())->text(); }
  void close() { socket_.reset(); }

 private:
  OwnedDescriptor socket_;
};

}  // namespace znni::rpc
