#include "tests/bench/served/echo_server.hpp"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <cstdint>

#include "proto/volumes.grpc.pb.h"

namespace znni::bench {
namespace {

void accept(const v1::VolumeHeader& header, v1::VolumeAccepted& accepted) {
  accepted.set_channels(header.channels());
  accepted.set_datatype(header.datatype());
  *accepted.mutable_extent() = header.extent();
}

class Echo final : public v1::Volumes::Service {
  grpc::Status Infer(grpc::ServerContext* /*context*/,
                     grpc::ServerReaderWriter<v1::VolumeResponse, v1::VolumeRequest>* stream) override {
    v1::VolumeRequest request;
    v1::VolumeResponse response;
    std::int64_t bytes = 0;
    while (stream->Read(&request)) {
      if (request.has_header()) {
        accept(request.header(), *response.mutable_accepted());
      } else {
        bytes += static_cast<std::int64_t>(request.chunk().data().size());
        response.mutable_chunk()->Swap(request.mutable_chunk());
      }
      if (!stream->Write(response)) return grpc::Status::CANCELLED;
    }
    response.mutable_done()->set_bytes(bytes);
    stream->Write(response);
    return grpc::Status::OK;
  }
};

}  // namespace

struct EchoServer::State {
  Echo echo;
  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

EchoServer::EchoServer() : state_(std::make_unique<State>()) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &state_->port);
  builder.RegisterService(&state_->echo);
  state_->server = builder.BuildAndStart();
}

EchoServer::~EchoServer() {
  if (state_->server) state_->server->Shutdown(std::chrono::system_clock::now());
}

int EchoServer::port() const { return state_->server ? state_->port : 0; }

}  // namespace znni::bench
