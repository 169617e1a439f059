#include "server/rpc/calls/message_wait.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "server/rpc/calls/caller.hpp"

namespace znni::rpc {
namespace {

constexpr std::chrono::seconds longest_moment{5};

}  // namespace

MessageWait::MessageWait(FrontDoor& door, grpc::ServerContext& context, std::int64_t max_bytes)
    : door_(door),
      context_(context),
      peer_(context.peer()),
      max_bytes_(max_bytes),
      stall_(door.limits.seconds_for(max_bytes), door.clock),
      silence_(door.limits.silent_seconds, door.clock) {}

bool MessageWait::read(const std::function<bool()>& read) {
  const Stall::Wait wait(stall_);
  const Stall::Wait silent(silence_);
  if (const std::optional<Received> now = received()) bytes_ = first_bytes_ = now->bytes;
  reads_ = true;
  return read();
}

std::optional<Error> MessageWait::why_to_end() {
  if (reads_ && brings_something()) silence_.restart();
  if (std::optional<Error> error = gone_or_too_large()) return error;
  if (std::optional<Error> error = gone_or_stalled(context_, silence_)) return error;
  return gone_or_stalled(context_, stall_);
}

// Returns why no message came. The library fails a read a moment before it says that the call is cancelled. It never
// says so of a caller who ended its side without a message.
Error MessageWait::why_nothing() const {
  const auto end = door_.clock() + longest_moment;
  while (!gone(context_) && door_.clock() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // asking interrupts threads that compute
  }
  return gone_or_too_large().value_or(Error{ErrorCode::invalid_argument, "the call ended without a ModelInferRequest"});
}

std::optional<Received> MessageWait::received() const { return door_.received ? door_.received(peer_) : std::nullopt; }

// Returns true if the connection brought bytes. Unknown counts count as bytes; so do bytes that wait to be read,
// because that wait is not the client's.
bool MessageWait::brings_something() {
  const std::optional<Received> now = received();
  return !now || !now->is_read || bytes_.exchange(now->bytes) != now->bytes;
}

std::optional<Error> MessageWait::gone_or_too_large() const {
  std::optional<Error> error = gone(context_);
  if (!error || error->code != ErrorCode::cancelled || !may_be_too_large()) return error;
  return Error{ErrorCode::over_budget, "the message has more than " + std::to_string(max_bytes_) + " bytes"};
}

// Returns true if the connection brought more than a message may have that the library passes on. Other calls on it
// count, too; a window of the message may have come before it was read. A connection that is closed brought what it had
// when it was asked last.
bool MessageWait::may_be_too_large() const {
  if (!reads_) return false;
  const std::optional<Received> now = received();
  const std::uint64_t last = std::max(now ? now->bytes : 0, bytes_.load());
  const std::uint64_t may_be_before = std::min(first_bytes_, static_cast<std::uint64_t>(door_.limits.window_bytes));
  return last - first_bytes_ + may_be_before > static_cast<std::uint64_t>(door_.limits.max_library_bytes);
}

}  // namespace znni::rpc
