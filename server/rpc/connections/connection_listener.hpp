// Accepts the connections of a server in place of the library's own listener. That one stops for ever at the first
// connection that finds no free descriptor, and bounds neither connections nor what one client has of them.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "primitives/core/result.hpp"
#include "server/rpc/base/now.hpp"
#include "server/rpc/connections/connection_facts.hpp"
#include "server/rpc/connections/connection_table.hpp"
#include "server/rpc/connections/listening_sockets.hpp"
#include "server/rpc/connections/own_question.hpp"
#include "server/rpc/connections/owned_descriptor.hpp"
#include "server/rpc/connections/paced.hpp"
#include "server/rpc/connections/received.hpp"
#include "server/rpc/connections/stream_account.hpp"
#include "server/rpc/connections/stream_watch.hpp"

namespace znni::rpc {

// Takes the socket of a new connection over, not blocking and closed on exec. Called from the listener's thread.
using TakeConnection = std::function<void(int listening, OwnedDescriptor connection)>;

struct ConnectionTakers {
  TakeConnection client;
  TakeConnection own;  // of ask(): without TLS
};

class ConnectionListener {
 public:
  // Is told of refused connections, in one line, every ten seconds at most.
  using Warn = std::function<void(const std::string& line)>;

  // Accepts from now on. Connections over `limits` are closed at once; so are those for which there is no descriptor.
  // `now` times what clients begin and do not see through.
  ConnectionListener(std::vector<ListeningSocket> sockets, ConnectionLimits limits, ConnectionTakers takers, Warn warn,
                     Now now = std::chrono::steady_clock::now);
  // Stops.
  ~ConnectionListener();

  // Breaks connections of clients that begin too many calls of the library's server `number` and do not see them
  // through. It refuses them for a while.
  void watch_streams(std::int64_t number);
  // Accepts no more, and closes the sockets.
  void stop();
  // Returns the counts of now. From any thread.
  [[nodiscard]] ConnectionFacts facts();
  // Returns what the connection from `peer`, as gRPC writes it, has received; nothing if it is not there. From any
  // thread.
  [[nodiscard]] std::optional<Received> received(const std::string& peer) const;
  // Asks on each socket, up to `patience`, for HTTP/2 settings over a connection that no limit forbids. Fails with
  // unavailable, with the address, if they do not come. From any thread.
  [[nodiscard]] Result<void> ask(std::chrono::milliseconds patience);

 private:
  void work(const std::stop_token& stop);
  void accept_from(const ListeningSocket& listening);
  void take(const ListeningSocket& listening, OwnedDescriptor connection);
  [[nodiscard]] bool shed(const ListeningSocket& listening);
  void refused(std::atomic<std::int64_t>& count, const std::string& why);
  [[nodiscard]] bool wait(const std::stop_token& stop);

  const ConnectionLimits limits_;
  const ConnectionTakers takers_;
  const Warn warn_;
  const Now now_;
  std::vector<ListeningSocket> sockets_;
  const std::vector<SocketAddress> addresses_;  // of the sockets
  OwnedDescriptor wake_;
  OwnedDescriptor spare_;  // given up for a moment where there is no other descriptor
  bool is_out_ = false;    // of descriptors, and the spare one is gone, too: waits a moment
  ConnectionTable table_;
  OwnConnections own_;
  StreamAccount streams_;
  Paced warnings_;
  std::atomic<std::int64_t> refused_by_server_ = 0;
  std::atomic<std::int64_t> refused_by_client_ = 0;
  std::atomic<std::int64_t> refused_by_descriptors_ = 0;
  std::atomic<std::int64_t> refused_by_resets_ = 0;
  std::unique_ptr<StreamWatch> watch_;
  std::jthread thread_;
};

}  // namespace znni::rpc
