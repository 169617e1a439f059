// Messages as gRPC receives them.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <string>

namespace znni::rpc {

inline grpc::ByteBuffer wire_of(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

inline grpc::ByteBuffer wire_of(const google::protobuf::Message& message) {
  return wire_of(message.SerializeAsString());
}

}  // namespace znni::rpc
