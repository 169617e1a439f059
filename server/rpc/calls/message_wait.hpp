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

// Ends the call of a client that sends too slowly for a message of `max_bytes`, or whose connection brings nothing at
// all for a while. Both must outlive this. One thread reads, another asks. gRPC drops a message that is too large when
// all of it is here, and ends its call like that of a caller who went; how much the connection brought tells the two
// apart.
class MessageWait {
 public:
  MessageWait(FrontDoor& door, grpc::ServerContext& context, std::int64_t max_bytes);

  // Runs `read`, which waits for the client; returns what it did.
  bool read(const std::function<bool()>& read);
  // Returns why the call ends now, which it does; or nothing. From the thread that asks.
  [[nodiscard]] std::optional<Error> why_to_end();
  // Returns why `read` brought nothing, which may take some seconds to know. From the thread that reads.
  [[nodiscard]] Error why_nothing() const;

 private:
  [[nodiscard]] std::optional<Received> received() const;
  [[nodiscard]] bool brings_something();
  [[nodiscard]] std::optional<Error> gone_or_too_large() const;
  [[nodiscard]] bool may_be_too_large() const;

  FrontDoor& door_;
  grpc::ServerContext& context_;
  const std::string peer_;
  const std::int64_t max_bytes_;
  Stall stall_;
  Stall silence_;
  std::atomic<bool> reads_ = false;       // or has read
  std::atomic<std::uint64_t> bytes_ = 0;  // that the connection had received when it was asked last
  std::uint64_t first_bytes_ = 0;         // likewise before it read; set before `reads_`
};

}  // namespace znni::rpc
