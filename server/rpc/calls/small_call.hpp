// A call of one small message each way while it is served.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <optional>
#include <string_view>

#include "server/rpc/calls/front_door.hpp"
#include "server/rpc/calls/stall.hpp"

namespace znni::rpc {

// Counts the call for its client, and ends it if the client does not take the answer. Each such call keeps a thread of
// the server: without that, clients who take nothing would keep all of them. Must outlive the sending.
class SmallCall {
 public:
  // Begins a small call. `method`: its name in the record of a refused call, a literal.
  SmallCall(FrontDoor& door, grpc::ServerContext& context, std::string_view method);

  // Returns OK, or why the call is refused.
  [[nodiscard]] const grpc::Status& status() const { return status_; }
  // Lets the time run for which the client may take nothing.
  void begin_sending() { sending_.emplace(stall_); }

 private:
  grpc::Status status_;
  std::optional<CallPass> pass_;
  Stall stall_;
  std::optional<Stall::Wait> sending_;
  const WatchedCall watch_;
};

}  // namespace znni::rpc
