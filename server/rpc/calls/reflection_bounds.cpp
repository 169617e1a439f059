#include "server/rpc/calls/reflection_bounds.hpp"

#include <optional>
#include <string_view>

#include "server/rpc/base/handed_over.hpp"
#include "server/rpc/base/status_map.hpp"
#include "server/rpc/calls/caller.hpp"
#include "server/rpc/connections/peer_address.hpp"

namespace znni::rpc {
namespace {

using grpc::experimental::InterceptionHookPoints;

constexpr std::string_view reflection = "/grpc.reflection.";

// Lives as long as its call. The library makes, calls and deletes it in threads of its own, one after the other.
class ReflectionStream final : public grpc::experimental::Interceptor {
 public:
  ReflectionStream(FrontDoor& door, grpc::ServerContext& context)
      : door_(door), context_(context), stall_(door.limits.reflection_seconds) {
    handed_over_.give();
  }
  ~ReflectionStream() override {
    handed_over_.take();
    watch_.reset();
    pass_.reset();
    door_.reflection_ended.give();
  }
  ReflectionStream(const ReflectionStream&) = delete;
  ReflectionStream& operator=(const ReflectionStream&) = delete;

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    handed_over_.take();
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) begin();
    // Asks no more about a call that may be gone.
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_STATUS)) watch_.reset();
    handed_over_.give();
    methods->Proceed();
  }

 private:
  void begin() {
    Result<CallPass> pass = door_.reflection_gate.enter(client_of_peer(context_.peer()));
    if (!pass) {
      static_cast<void>(door_.refuse("ServerReflection", to_status(pass.error())));
      return end_call(context_, pass.error());
    }
    pass_.emplace(*std::move(pass));
    lasts_.emplace(stall_);
    watch_.emplace(door_.watch.watch([this] { return gone_or_stalled(context_, stall_); }));
  }

  FrontDoor& door_;
  grpc::ServerContext& context_;
  Stall stall_;
  std::optional<Stall::Wait> lasts_;
  std::optional<CallPass> pass_;
  std::optional<WatchedCall> watch_;
  HandedOver handed_over_;
};

}  // namespace

grpc::experimental::Interceptor* ReflectionBounds::CreateServerInterceptor(grpc::experimental::ServerRpcInfo* info) {
  if (!std::string_view(info->method()).starts_with(reflection)) return nullptr;
  handed_over_.take();
  return new ReflectionStream(door_, static_cast<grpc::ServerContext&>(*info->server_context()));  // the library's
}

}  // namespace znni::rpc
