#include "server/metrics/http_stream.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "server/rpc/connections/socket_address.hpp"

namespace znni {
namespace {

bool poll_one(int socket, short events, std::chrono::milliseconds patience) {
  pollfd one = {socket, events, 0};
  return poll(&one, 1, static_cast<int>(patience.count())) > 0;
}

void tell(const std::optional<rpc::SocketAddress>& address, std::string& ip, int& port) {
  if (!address) return;
  port = address->port();
  ip = address->text();
  ip.resize(ip.rfind(':'));
  if (ip.front() == '[') ip = ip.substr(1, ip.size() - 2);
}

}  // namespace

bool HttpStream::wait(short events) const {
  const std::chrono::milliseconds left = place_.left();
  if (left > left.zero() && poll_one(socket_, events, std::min(idle_timeout_, left))) return true;
  if (left < idle_timeout_) place_.note_late();
  return false;
}

bool HttpStream::is_readable() const { return begin_ < end_ || wait(POLLIN); }

bool HttpStream::is_writable() const { return wait(POLLOUT); }

bool HttpStream::has_request(std::chrono::milliseconds patience) const {
  return begin_ < end_ || poll_one(socket_, POLLIN, patience);
}

// Reads out of a buffer, because the library reads headers byte by byte.
ssize_t HttpStream::read(char* to, std::size_t size) {
  if (begin_ == end_) {
    if (!is_readable()) return -1;
    if (size >= ahead_.size()) return recv(socket_, to, size, MSG_DONTWAIT);
    const ssize_t more = recv(socket_, ahead_.data(), ahead_.size(), MSG_DONTWAIT);
    if (more <= 0) return more;
    begin_ = 0;
    end_ = static_cast<std::size_t>(more);
  }
  const std::size_t taken = std::min(size, end_ - begin_);
  std::copy_n(ahead_.data() + begin_, taken, to);
  begin_ += taken;
  return static_cast<ssize_t>(taken);
}

ssize_t HttpStream::write(const char* from, std::size_t size) {
  for (std::size_t written = 0; written < size;) {
    if (!is_writable()) return -1;
    const ssize_t more = send(socket_, from + written, size - written, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (more < 0 && errno != EAGAIN && errno != EWOULDBLOCK) return -1;
    written += static_cast<std::size_t>(std::max<ssize_t>(more, 0));
  }
  return static_cast<ssize_t>(size);
}

void HttpStream::get_remote_ip_and_port(std::string& ip, int& port) const {
  tell(rpc::SocketAddress::of_peer(socket_), ip, port);
}

void HttpStream::get_local_ip_and_port(std::string& ip, int& port) const {
  tell(rpc::SocketAddress::of_socket(socket_), ip, port);
}

}  // namespace znni
