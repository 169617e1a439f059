#include "server/rpc/messages/raw_message.hpp"

#include <google/protobuf/descriptor.h>
#include <grpcpp/support/proto_buffer_reader.h>

#include <string>

#include "primitives/core/shape.hpp"
#include "server/rpc/messages/message_size.hpp"

namespace znni::rpc {
namespace {

Error no_message(const google::protobuf::Message& message) {
  return {ErrorCode::invalid_argument, "the message is not a " + message.GetDescriptor()->name()};
}

Result<void> check_size(grpc::ByteBuffer& wire, std::int64_t most, const google::protobuf::Message& message) {
  grpc::ProtoBufferReader reader(&wire);
  if (!reader.status().ok()) return no_message(message);
  const Result<std::int64_t> bytes = parsed_bytes(*message.GetDescriptor(), reader, most);
  if (!bytes) return bytes.error();
  if (*bytes <= most) return {};
  return Error{ErrorCode::over_budget, "a " + message.GetDescriptor()->name() + " of " + std::to_string(wire.Length()) +
                                           " bytes would take more than " + bytes_text(most) +
                                           " of memory: send voxels raw, and no fields beside those of the protocol"};
}

}  // namespace

Result<void> parse(grpc::ByteBuffer& wire, std::int64_t most, google::protobuf::Message& message) {
  Result<void> parsed = check_size(wire, most, message);
  if (parsed) {
    grpc::ProtoBufferReader reader(&wire);
    if (!reader.status().ok() || !message.ParseFromZeroCopyStream(&reader)) parsed = no_message(message);
  }
  wire.Clear();
  return parsed;
}

}  // namespace znni::rpc
