#include "server/rpc/calls/message_wait.hpp"

#include <utility>

#include "server/rpc/calls/caller.hpp"

namespace znni::rpc {

MessageWait::MessageWait(FrontDoor& door, grpc::ServerContext& context, std::int64_t most_bytes)
    : door_(door),
      context_(context),
      peer_(context.peer()),
      stall_(door.limits.seconds_for(most_bytes), door.clock),
      silence_(door.limits.silent_seconds, door.clock) {}

bool MessageWait::read(const std::function<bool()>& read) {
  const Stall::Wait wait(stall_);
  const Stall::Wait silent(silence_);
  reads_ = true;
  const bool is_here = read();
  reads_ = false;
  return is_here;
}

std::optional<Error> MessageWait::why_to_end() {
  if (reads_ && brings_something()) silence_.begin_anew();
  if (std::optional<Error> error = gone_or_stalled(context_, silence_)) return error;
  return gone_or_stalled(context_, stall_);
}

// Returns true if the connection brought bytes. Unknown counts count as bytes; so do bytes that wait to be read,
// because that wait is not the client's.
bool MessageWait::brings_something() {
  const std::optional<Received> received = door_.received ? door_.received(peer_) : std::nullopt;
  return !received || !received->is_read || std::exchange(bytes_, received->bytes) != received->bytes;
}

}  // namespace znni::rpc
