// Tells whether the caller of a call still wants the answer.
#pragma once

#include <grpcpp/server_context.h>

#include <optional>
#include <string>

#include "primitives/core/result.hpp"
#include "server/rpc/calls/stall.hpp"
#include "server/rpc/connections/local_peer.hpp"

namespace znni::rpc {

// Tells of the other end of a call, over any protocol. May be asked from any thread while the call lasts.
class Caller {
 public:
  virtual ~Caller() = default;
  // Returns why the call shall end, or nothing: its caller gave up, is gone, or its time is over.
  [[nodiscard]] virtual std::optional<Error> gone() const = 0;
  // Returns its address as gRPC writes it: "ipv4:127.0.0.1:5000".
  [[nodiscard]] virtual std::string peer() const = 0;
  // Returns true if shared memory may be its: it is on this host.
  [[nodiscard]] virtual bool may_share_memory() const { return is_local_peer(peer()); }
};

// Tells of a gRPC caller, while the handler of the call runs.
class GrpcCaller final : public Caller {
 public:
  explicit GrpcCaller(const grpc::ServerContext& context) : context_(context) {}
  [[nodiscard]] std::optional<Error> gone() const override;
  [[nodiscard]] std::string peer() const override { return context_.peer(); }

 private:
  const grpc::ServerContext& context_;
};

// Returns cancelled or deadline_exceeded if the caller gave up, is gone or its deadline has passed. Any thread may ask
// while the call's handler runs.
[[nodiscard]] std::optional<Error> gone(const grpc::ServerContext& context);

// Ends the call at once: its client sees the error, and a thread that waits for the client in a read or write wakes up.
// May be called from any thread while the call's handler runs.
void end_call(grpc::ServerContext& context, const Error& error);

// Returns the error of a call whose client did nothing for too long.
[[nodiscard]] Error stalled();

// Returns what gone() does, and ends a call whose client stalls with deadline_exceeded.
[[nodiscard]] std::optional<Error> gone_or_stalled(grpc::ServerContext& context, const Stall& stall);

}  // namespace znni::rpc
