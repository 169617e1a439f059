// Waits for the one message of a call, whose progress is not seen before it is complete.
#pragma once

#include <grpcpp/server_context.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "server/rpc/calls/front_door.hpp"
#include "server/rpc/calls/stall.hpp"

namespace znni::rpc {

// Ends the call of a client that sends too slowly for a message of `most_bytes`, or whose connection brings nothing at
// all for a while. Both must outlive this. One thread reads, another asks.
class MessageWait {
 public:
  MessageWait(FrontDoor& door, grpc::ServerContext& context, std::int64_t most_bytes);

  // Runs `read`, which waits for the client; returns what it did.
  bool read(const std::function<bool()>& read);
  // Returns true while the client has been waited for for too long.
  [[nodiscard]] bool too_long() const { return stall_.too_long() || silence_.too_long(); }
  // Returns why the call ends now, which it does; or nothing. From the thread that asks.
  [[nodiscard]] std::optional<Error> why_to_end();

 private:
  [[nodiscard]] bool brings_something();

  FrontDoor& door_;
  grpc::ServerContext& context_;
  const std::string peer_;
  Stall stall_;
  Stall silence_;
  std::atomic<bool> reads_ = false;
  std::uint64_t bytes_ = 0;  // that the connection had received when it was asked last
};

}  // namespace znni::rpc
