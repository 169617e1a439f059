// Bounds the streams of reflection, which the library serves: each keeps a thread of the server for as long as its
// client likes.
#pragma once

#include <grpcpp/support/server_interceptor.h>

#include "server/rpc/base/handed_over.hpp"
#include "server/rpc/calls/front_door.hpp"

namespace znni::rpc {

// Sees streams of reflection begin and end. One over `door.reflection_gate` is ended at once, RESOURCE_EXHAUSTED; one
// that lasts for longer than its limit, DEADLINE_EXCEEDED. `door` must outlive the server.
class ReflectionBounds final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit ReflectionBounds(FrontDoor& door) : door_(door) { handed_over_.give(); }

  // Returns nullptr for other calls.
  [[nodiscard]] grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* info) override;

 private:
  FrontDoor& door_;
  HandedOver handed_over_;  // with all that is in the door, to the threads of the library
};

}  // namespace znni::rpc
