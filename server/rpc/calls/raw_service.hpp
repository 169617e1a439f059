// A gRPC service whose requests arrive as bytes. The generated services parse a message before the handler is asked, of
// any length that the server takes for any method.
#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/method_handler.h>
#include <grpcpp/support/sync_stream.h>

#include <memory>
#include <string_view>
#include <utility>

#include "server/rpc/base/status_map.hpp"
#include "server/rpc/calls/small_call.hpp"
#include "server/rpc/messages/raw_message.hpp"

namespace znni::rpc {

// Tells clients that the call's status is ours: gRPC on their side and proxies make others with the same codes.
inline void mark_answer(grpc::ServerContext& context) { context.AddTrailingMetadata("answered-by", "znnid"); }

// Parses the one message of a call and serves it, unless its client has too many such calls.
template <class Self, class Request, class Response>
class SmallHandler final : public grpc::internal::MethodHandler {
 public:
  using Serve = grpc::Status (Self::*)(grpc::ServerContext*, const Request*, Response*);

  SmallHandler(FrontDoor& door, std::string_view method, Self& self, Serve serve)
      : door_(door), method_(method), self_(self), serve_(serve) {}

  void RunHandler(const HandlerParameter& parameter) final {
    auto& context = static_cast<grpc::ServerContext&>(*parameter.server_context);
    mark_answer(context);
    SmallCall call(door_, context, method_);
    Response response;
    grpc::Status status = parameter.status;
    if (status.ok()) {
      auto* const wire = static_cast<grpc::ByteBuffer*>(parameter.request);
      status = call.status().ok() ? answer(context, *wire, response) : call.status();
      wire->~ByteBuffer();
    }
    call.begin_sending();
    grpc::internal::UnaryRunHandlerHelper(parameter, &response, status);
  }

  // Puts the message into memory of the call, where RunHandler() destroys it.
  void* Deserialize(grpc_call* call, grpc_byte_buffer* message, grpc::Status* status, void** /*data*/) final {
    void* const place = grpc::g_core_codegen_interface->grpc_call_arena_alloc(call, sizeof(grpc::ByteBuffer));
    return grpc::internal::UnaryDeserializeHelper(message, status, new (place) grpc::ByteBuffer);
  }

 private:
  grpc::Status answer(grpc::ServerContext& context, const grpc::ByteBuffer& wire, Response& response) {
    grpc::ByteBuffer bytes(wire);
    Request request;
    const Result<void> parsed = parse(bytes, max_small_message_bytes, request);
    return parsed ? (self_.*serve_)(&context, &request, &response) : to_status(parsed.error());
  }

  FrontDoor& door_;
  const std::string_view method_;
  Self& self_;
  const Serve serve_;
};

// Serves as `handler` does, inside `gate` until the status of the call is sent.
class GatedHandler final : public grpc::internal::MethodHandler {
 public:
  GatedHandler(CallGate& gate, std::unique_ptr<grpc::internal::MethodHandler> handler)
      : gate_(gate), handler_(std::move(handler)) {}

  void RunHandler(const HandlerParameter& parameter) final {
    const Result<CallPass> inside = gate_.enter();
    handler_->RunHandler(parameter);
  }

 private:
  CallGate& gate_;
  const std::unique_ptr<grpc::internal::MethodHandler> handler_;
};

class RawService : public grpc::Service {
 protected:
  explicit RawService(FrontDoor& door) : door_(door) {}

  // Adds a method of one small message and its answer. Methods go by their paths, "/package.Service/Method", which are
  // literals. A member of `Self`, which is this, serves each.
  template <class Self, class Request, class Response>
  void add_small(const char* path, grpc::Status (Self::*serve)(grpc::ServerContext*, const Request*, Response*)) {
    using Handler = SmallHandler<Self, Request, Response>;
    const std::string_view method = std::string_view(path).substr(std::string_view(path).rfind('/') + 1);
    add(path, grpc::internal::RpcMethod::NORMAL_RPC, new Handler(door_, method, static_cast<Self&>(*this), serve));
  }

  // Adds a method of one message and its answer, which are read and sent when we say so.
  template <class Self, class Response>
  void add_streamed(const char* path,
                    grpc::Status (Self::*serve)(grpc::ServerContext*,
                                                grpc::ServerUnaryStreamer<grpc::ByteBuffer, Response>*)) {
    using Handler = grpc::internal::StreamedUnaryHandler<grpc::ByteBuffer, Response>;
    add_gated(path, std::make_unique<Handler>([this, serve](auto* context, auto* stream) {
                mark_answer(*context);
                return (static_cast<Self*>(this)->*serve)(context, stream);
              }));
  }

  // Adds a method of messages both ways.
  template <class Self, class Response>
  void add_stream(const char* path,
                  grpc::Status (Self::*serve)(grpc::ServerContext*,
                                              grpc::ServerReaderWriter<Response, grpc::ByteBuffer>*)) {
    using Handler = grpc::internal::BidiStreamingHandler<Self, grpc::ByteBuffer, Response>;
    add_gated(path, std::make_unique<Handler>(
                        [serve](Self* self, auto* context, auto* stream) {
                          mark_answer(*context);
                          return (self->*serve)(context, stream);
                        },
                        static_cast<Self*>(this)));
  }

  FrontDoor& door_;

 private:
  void add_gated(const char* path, std::unique_ptr<grpc::internal::MethodHandler> handler) {
    add(path, grpc::internal::RpcMethod::BIDI_STREAMING, new GatedHandler(door_.answering, std::move(handler)));
  }
  void add(const char* path, grpc::internal::RpcMethod::RpcType type, grpc::internal::MethodHandler* handler) {
    AddMethod(new grpc::internal::RpcServiceMethod(path, type, handler));  // which owns both
  }
};

}  // namespace znni::rpc
