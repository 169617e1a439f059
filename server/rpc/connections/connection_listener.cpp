#include "server/rpc/connections/connection_listener.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "server/rpc/connections/peer_address.hpp"

namespace znni::rpc {
namespace {

constexpr int max_at_a_time = 64;  // of one socket before the others have their turn
constexpr int pause_ms = 20;       // where the system has no descriptor or memory for more
constexpr std::chrono::seconds between_warnings{10};

OwnedDescriptor spare_descriptor() { return OwnedDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

OwnedDescriptor accepted(const ListeningSocket& listening) {
  return OwnedDescriptor(accept4(listening.socket.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

bool lacks_descriptors(int error) { return error == EMFILE || error == ENFILE; }
bool lacks_memory(int error) { return error == ENOBUFS || error == ENOMEM; }
bool has_no_more(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

std::vector<SocketAddress> addresses_of(const std::vector<ListeningSocket>& sockets) {
  std::vector<SocketAddress> addresses;
  for (const ListeningSocket& each : sockets) addresses.push_back(each.address);
  return addresses;
}

std::string at_most(int most, const char* option) { return std::to_string(most) + " are open (" + option + ")"; }

}  // namespace

ConnectionListener::ConnectionListener(std::vector<ListeningSocket> sockets, ConnectionLimits limits,
                                       ConnectionTakers takers, Warn warn, Now now)
    : limits_(limits),
      takers_(std::move(takers)),
      warn_(std::move(warn)),
      now_(std::move(now)),
      sockets_(std::move(sockets)),
      addresses_(addresses_of(sockets_)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      spare_(spare_descriptor()),
      table_(limits),
      warnings_(between_warnings),
      thread_([this](const std::stop_token& stop) { work(stop); }) {
  ensure(static_cast<bool>(wake_), "no descriptor for what ends the listener");
}

ConnectionListener::~ConnectionListener() { stop(); }

void ConnectionListener::watch_streams(std::int64_t number) {
  watch_ = std::make_unique<StreamWatch>(number, table_, streams_, warn_, now_);
}

void ConnectionListener::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  static_cast<void>(eventfd_write(wake_.number(), 1));
  thread_.join();
  sockets_.clear();
}

ConnectionFacts ConnectionListener::facts() {
  return {table_.count(),
          limits_.most,
          refused_by_server_,
          refused_by_client_,
          refused_by_resets_,
          refused_by_descriptors_,
          watch_ ? watch_->closed() : 0};
}

std::optional<Received> ConnectionListener::received(const std::string& peer) const {
  const std::optional<SocketAddress> address = address_of_peer(peer);
  const std::optional<OpenConnection> connection = address ? table_.find(address->text()) : std::nullopt;
  return connection ? received_by(connection->descriptor) : std::nullopt;
}

Result<void> ConnectionListener::ask(std::chrono::milliseconds patience) {
  for (const SocketAddress& each : addresses_) {
    const Result<void> answered = ask_for_settings(each, own_, patience);
    if (!answered) return answered.error().within(each.text());
  }
  return {};
}

void ConnectionListener::work(const std::stop_token& stop) {
  while (wait(stop)) {
    for (const ListeningSocket& each : sockets_) accept_from(each);
  }
}

// Waits for a connection on any socket; out of descriptors, for a moment only. False when it shall stop.
bool ConnectionListener::wait(const std::stop_token& stop) {
  std::vector<pollfd> all = {{wake_.number(), POLLIN, 0}};
  if (!is_out_) {
    for (const ListeningSocket& each : sockets_) all.push_back({each.socket.number(), POLLIN, 0});
  }
  poll(all.data(), all.size(), is_out_ ? pause_ms : -1);
  is_out_ = false;
  return !stop.stop_requested();
}

void ConnectionListener::accept_from(const ListeningSocket& listening) {
  for (int i = 0; i < max_at_a_time && !is_out_; ++i) {
    OwnedDescriptor connection = accepted(listening);
    if (connection) {
      take(listening, std::move(connection));
      continue;
    }
    const int error = errno;
    if (has_no_more(error)) return;
    if (lacks_descriptors(error) && !shed(listening)) return;
    if (lacks_memory(error)) is_out_ = true;
    // Other errors concern one connection alone: it was closed before it was accepted.
  }
}

void ConnectionListener::take(const ListeningSocket& listening, OwnedDescriptor connection) {
  const int number = listening.socket.number();
  const auto peer = SocketAddress::of_peer(connection.number());
  if (!peer) return;  // it is gone already
  if (own_.has(peer->text())) return takers_.own(number, std::move(connection));
  const std::string client = peer->client();
  if (streams_.is_shut_out(client, now_())) {
    return refused(refused_by_resets_, "from " + client + ": it began too many calls and did not see them through");
  }
  switch (table_.admit(connection.number(), client, ConnectionTable::Clock::now(), peer->text())) {
    case Admission::admitted: return takers_.client(number, std::move(connection));
    case Admission::server_full:
      return refused(refused_by_server_, "from " + client + ": " + at_most(limits_.most, "--max-connections"));
    case Admission::client_full:
      return refused(refused_by_client_, "from " + client + ": of this address " +
                                             at_most(limits_.max_of_client, "--max-connections-per-client"));
  }
}

// Accepts a connection with the spare descriptor and closes it, because one that is not accepted would keep the socket
// ready for ever. Counts it before the client sees its end. Returns false if there was no connection: the system misses
// the descriptor first.
bool ConnectionListener::shed(const ListeningSocket& listening) {
  spare_.reset();
  OwnedDescriptor connection = accepted(listening);
  if (connection) {
    refused(refused_by_descriptors_, "no descriptor is free; raise the limit of open files (LimitNOFILE, ulimit -n)");
  } else {
    is_out_ = lacks_descriptors(errno);
  }
  const bool there_was_one = static_cast<bool>(connection);
  connection.reset();
  spare_ = spare_descriptor();
  return there_was_one;
}

void ConnectionListener::refused(std::atomic<std::int64_t>& count, const std::string& why) {
  ++count;
  const std::optional<std::int64_t> times = warnings_.happened(Paced::Clock::now());
  if (times && warn_) warn_("refused " + std::to_string(*times) + " connections, the last " + why);
}

}  // namespace znni::rpc
