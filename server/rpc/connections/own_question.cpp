#include "server/rpc/connections/own_question.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "server/rpc/connections/owned_descriptor.hpp"

namespace znni::rpc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::size_t frame_header_bytes = 9;
constexpr char settings_type = 4;  // the fourth byte of a frame's header

Error failed(const std::string& step) {
  return {ErrorCode::unavailable, step + ": " + std::system_category().message(errno)};
}

Error too_late(const char* step) { return {ErrorCode::unavailable, std::string(step) + ": no answer in time"}; }

// Waits until `socket` has one of `events`, or an error; false when `end` passed first.
bool wait_for(int socket, short events, Clock::time_point end) {
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() < 0) return false;
    pollfd one = {socket, events, 0};
    const int ready = poll(&one, 1, static_cast<int>(left.count()) + 1);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

Result<void> connect_to(const SocketAddress& port, int socket, Clock::time_point end) {
  if (connect(socket, port.data(), port.size()) == 0) return {};
  if (errno != EINPROGRESS) return failed("connect");
  if (!wait_for(socket, POLLOUT, end)) return too_late("connect");
  socklen_t length = sizeof(errno);
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &errno, &length);
  if (errno != 0) return failed("connect");
  return {};
}

Result<void> begin_http2(int socket) {
  // The preface, and settings of our own: none.
  std::string text(preface);
  text += std::string{0, 0, 0, settings_type, 0, 0, 0, 0, 0};
  const ssize_t sent = send(socket, text.data(), text.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(text.size())) return failed("send");
  return {};
}

Result<void> receive_settings(int socket, Clock::time_point end) {
  std::array<char, frame_header_bytes> header{};
  for (std::size_t got = 0; got < header.size();) {
    if (!wait_for(socket, POLLIN, end)) return too_late("HTTP/2 settings");
    const ssize_t more = recv(socket, header.data() + got, header.size() - got, 0);
    if (more == 0) return Error{ErrorCode::unavailable, "HTTP/2 settings: the connection was closed"};
    if (more < 0 && errno != EAGAIN) return failed("HTTP/2 settings");
    got += more > 0 ? static_cast<std::size_t>(more) : 0;
  }
  if (header[3] == settings_type) return {};
  return Error{ErrorCode::unavailable, "HTTP/2 settings: something else came"};
}

}  // namespace

void OwnConnections::add(const std::string& from) {
  const std::scoped_lock lock(mutex_);
  from_.insert(from);
}

void OwnConnections::remove(const std::string& from) {
  const std::scoped_lock lock(mutex_);
  from_.erase(from);
}

bool OwnConnections::has(const std::string& from) const {
  const std::scoped_lock lock(mutex_);
  return from_.contains(from);
}

Result<void> ask_for_settings(const SocketAddress& port, OwnConnections& own, std::chrono::milliseconds patience) {
  const Clock::time_point end = Clock::now() + patience;
  const SocketAddress to = port.reachable();
  const OwnedDescriptor asking(socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!asking) return failed("socket");
  // Its address is known before it connects, and the listener sees it.
  const SocketAddress any = to.with_port(0);
  if (bind(asking.number(), any.data(), any.size()) != 0) return failed("bind");
  const auto from = SocketAddress::of_socket(asking.number());
  if (!from) return failed("bind");
  own.add(from->text());
  Result<void> answered = connect_to(to, asking.number(), end);
  if (answered) answered = begin_http2(asking.number());
  if (answered) answered = receive_settings(asking.number(), end);
  own.remove(from->text());
  return answered;
}

}  // namespace znni::rpc
