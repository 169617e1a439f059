// The gRPC server: both front doors, standard health and reflection, on one port.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "server/jobs/model_server.hpp"
#include "server/rpc/base/now.hpp"
#include "server/rpc/calls/access.hpp"
#include "server/rpc/calls/call_record.hpp"
#include "server/rpc/connections/connection_facts.hpp"
#include "server/rpc/connections/connection_table.hpp"
#include "server/rpc/connections/received.hpp"

namespace znni::rpc {

// PEM texts. With `client_authority`, clients need a certificate that it signed.
struct Certificates {
  std::string certificate;
  std::string key;
  std::string client_authority;
};

struct ListenOptions {
  std::string address = "127.0.0.1";         // or a name: all that it stands for
  int port = 8001;                           // 0: any free one
  std::int64_t max_message_bytes = 0;        // voxels in one ModelInfer message, each way
  int max_receives = 4;                      // of ModelInfer messages at the same time
  int max_calls = 128;                       // that carry volumes
  double client_share = 0.5;                 // of all calls of a kind for one client, from 0 to 1
  double stall_seconds = 120;                // a stream whose client does nothing for so long is ended
  double silent_seconds = 20;                // a first message is waited for whose connection brings nothing
  double reflection_seconds = 60;            // a stream of reflection lasts at most
  std::int64_t max_unsent_bytes = 64 << 20;  // of one stream's output, computed and waiting for its client
  std::int64_t max_input_bytes = 64 << 20;   // of one stream's input, if what is read at a time is not more
  std::int64_t max_buffered_bytes = 0;       // by gRPC, of all calls; what passes it loses a stream. 0: no limit
  std::string server_version = "0";          // as ServerMetadata tells it
  bool offer_shared_memory = false;          // of clients on this host
  bool http_shares_memory = true;            // also of those that come over HTTP
  std::size_t max_regions = 1024;            // of shared memory; each keeps a descriptor
  bool model_control = false;                // clients may load and unload models
  bool json_log = false;                     // as LogSettings tells it
  ConnectionLimits connections;
  FlowSink flows;                                     // of calls under way; nothing: told to no one
  std::function<void(const std::string& line)> warn;  // of refused connections; nothing: told to no one
  Tokens tokens;
  std::optional<Certificates> certificates;  // nothing: no TLS
  ReceivedCounts received;                   // nothing: what the system tells
  // Times clients that are waited for, requests that wait for their turn, and what clients begin and leave open.
  Now clock = std::chrono::steady_clock::now;
};

struct FrontDoor;

class Server {
 public:
  // Starts the server. Fails with unavailable if the port of any address is in use or TLS cannot be set up. `models`
  // must outlive the server.
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(ModelServer& models, CallSink record,
                                                             const ListenOptions& options);
  // Ends what is left, at once.
  ~Server();

  [[nodiscard]] int port() const;
  // Returns the door that calls over other protocols use, too. They must have ended before the server goes.
  [[nodiscard]] FrontDoor& front_door() const;
  // Returns the counts of now. From any thread.
  [[nodiscard]] ConnectionFacts connections() const;
  // Asks every address that it listens on, up to `patience`, for the beginning of HTTP/2, over a connection that no
  // limit forbids. Fails with unavailable, with the address and the step that failed, if it does not come. From any
  // thread.
  [[nodiscard]] Result<void> ask_own_port(std::chrono::milliseconds patience) const;

  // Turns health to not serving and retires the models; all calls are still served.
  void retire();
  // Turns health to not serving and refuses new volumes; those inside go on.
  void close();
  // Closes, waits up to `seconds` for the calls inside, drains the models of what is left, and stops.
  void drain(double seconds);
  // Waits up to `seconds` for the calls inside, then ends the rest.
  void stop(double seconds);

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace znni::rpc
