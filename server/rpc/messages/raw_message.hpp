// A message as gRPC received it, parsed only where what it becomes is bounded.
#pragma once

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "primitives/core/result.hpp"

namespace znni::rpc {

// Limit of messages without voxels in memory, and of what others hold beside their voxels.
inline constexpr std::int64_t max_small_message_bytes = std::int64_t{1} << 20;

// Parses `wire` and lets it go. Fails with over_budget, and allocates nothing, if it would take more than `most` bytes;
// fails with invalid_argument if it is not such a message.
[[nodiscard]] Result<void> parse(grpc::ByteBuffer& wire, std::int64_t most, google::protobuf::Message& message);

}  // namespace znni::rpc
