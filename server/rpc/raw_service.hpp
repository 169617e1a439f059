// A gRPC service whose requests arrive as bytes. The generated services parse a message before anybody is asked, of any
// length that the server takes for any method.
#pragma once

#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/support/method_handler.h>
#include <grpcpp/support/sync_stream.h>

#include "server/rpc/raw_message.hpp"
#include "server/rpc/status_map.hpp"

namespace znni::rpc {

// Tells clients that the call's status is ours: gRPC on their side and proxies make others with the same codes.
inline void mark_answer(grpc::ServerContext& context) { context.AddTrailingMetadata("answered-by", "znnid"); }

class RawService : public grpc::Service {
 protected:
  // Methods by their paths, "/package.Service/Method": literals. Each is served by a member of `Self`, which is this.
  // One small message and its answer.
  template <class Self, class Request, class Response>
  void add_small(const char* path, grpc::Status (Self::*serve)(grpc::ServerContext*, const Request*, Response*)) {
    using Handler = grpc::internal::RpcMethodHandler<Self, grpc::ByteBuffer, Response>;
    const auto parse_and_serve = [serve](Self* self, grpc::ServerContext* context, const grpc::ByteBuffer* wire,
                                         Response* response) {
      mark_answer(*context);
      grpc::ByteBuffer bytes(*wire);
      Request request;
      const Result<void> parsed = parse(bytes, most_small_message_bytes, request);
      return parsed ? (self->*serve)(context, &request, response) : to_status(parsed.error());
    };
    add(path, grpc::internal::RpcMethod::NORMAL_RPC, new Handler(parse_and_serve, static_cast<Self*>(this)));
  }

  // One message and its answer, read and sent when we say so.
  template <class Self, class Response>
  void add_streamed(const char* path,
                    grpc::Status (Self::*serve)(grpc::ServerContext*,
                                                grpc::ServerUnaryStreamer<grpc::ByteBuffer, Response>*)) {
    using Handler = grpc::internal::StreamedUnaryHandler<grpc::ByteBuffer, Response>;
    add(path, grpc::internal::RpcMethod::BIDI_STREAMING, new Handler([this, serve](auto* context, auto* stream) {
          mark_answer(*context);
          return (static_cast<Self*>(this)->*serve)(context, stream);
        }));
  }

  // Messages both ways.
  template <class Self, class Response>
  void add_stream(const char* path,
                  grpc::Status (Self::*serve)(grpc::ServerContext*,
                                              grpc::ServerReaderWriter<Response, grpc::ByteBuffer>*)) {
    using Handler = grpc::internal::BidiStreamingHandler<Self, grpc::ByteBuffer, Response>;
    add(path, grpc::internal::RpcMethod::BIDI_STREAMING,
        new Handler(
            [serve](Self* self, auto* context, auto* stream) {
              mark_answer(*context);
              return (self->*serve)(context, stream);
            },
            static_cast<Self*>(this)));
  }

 private:
  void add(const char* path, grpc::internal::RpcMethod::RpcType type, grpc::internal::MethodHandler* handler) {
    AddMethod(new grpc::internal::RpcServiceMethod(path, type, handler));  // which owns both
  }
};

}  // namespace znni::rpc
