#include "server/rpc/calls/small_call.hpp"

#include "server/rpc/base/status_map.hpp"
#include "server/rpc/calls/caller.hpp"
#include "server/rpc/connections/peer_address.hpp"

namespace znni::rpc {

SmallCall::SmallCall(FrontDoor& door, grpc::ServerContext& context, std::string_view method)
    : stall_(door.limits.silent_seconds, door.clock),
      watch_(door.watch.watch([this, &context] { return gone_or_stalled(context, stall_); })) {
  Result<CallPass> pass = door.small_gate.enter(client_of_peer(context.peer()));
  if (pass) {
    pass_.emplace(*std::move(pass));
  } else {
    status_ = door.refuse(method, to_status(pass.error()));
  }
}

}  // namespace znni::rpc
