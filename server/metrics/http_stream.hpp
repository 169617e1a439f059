// A connection as the HTTP library reads and writes it, with a bound on each pause of its client and on all of them.
#pragma once

#include <httplib.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>

#include "server/metrics/http_connections.hpp"

namespace znni {

// Reads ahead, so it is kept from the first request of a connection to the last. Borrows the socket and the place.
class HttpStream final : public httplib::Stream {
 public:
  HttpStream(int socket, const HttpPlace& place, std::chrono::milliseconds idle_timeout)
      : socket_(socket), place_(place), idle_timeout_(idle_timeout) {}

  // Return false if the client was silent for too long, or no time is left for its request.
  [[nodiscard]] bool is_readable() const override;
  [[nodiscard]] bool is_writable() const override;
  // Returns the bytes that were read, 0 at their end, -1 where is_readable() is false.
  ssize_t read(char* to, std::size_t size) override;
  // Returns `size` when all was written, else -1.
  ssize_t write(const char* from, std::size_t size) override;
  void get_remote_ip_and_port(std::string& ip, int& port) const override;
  void get_local_ip_and_port(std::string& ip, int& port) const override;
  [[nodiscard]] socket_t socket() const override { return socket_; }

  // Waits up to `patience` for the first byte of a request.
  [[nodiscard]] bool has_request(std::chrono::milliseconds patience) const;

 private:
  [[nodiscard]] bool wait(short events) const;

  const int socket_;
  const HttpPlace& place_;
  const std::chrono::milliseconds idle_timeout_;
  std::array<char, 4096> ahead_{};
  std::size_t begin_ = 0;  // of what is unread in ahead_
  std::size_t end_ = 0;
};

}  // namespace znni
