// ModelStreamInfer: ModelInfer requests one after the other through one stream, one response each. For clients that
// know nothing else; large volumes go through znni.v1.Volumes.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/sync_stream.h>

#include "proto/inference.pb.h"
#include "server/rpc/calls/front_door.hpp"

namespace znni::rpc {

using InferResponseStream = grpc::ServerReaderWriter<inference::ModelStreamInferResponse, grpc::ByteBuffer>;

// Blocks until the client has sent its last request and has its last response. gRPC receives a message before its size
// is known, at any time while the stream is open. So the stream holds the memory of one message and its answer from
// start to end, and fails with over_budget if there is none; one whose client does nothing for too long is ended, and
// so is one without a request under way when the gate closes. What is wrong with one request is the error_message of
// its response, and the stream goes on; with call metadata `triton_grpc_error: true` it ends the stream with that
// status.
[[nodiscard]] Result<void> stream_infer(FrontDoor& door, grpc::ServerContext& context, InferResponseStream& stream);

}  // namespace znni::rpc
