// Bounds what a message becomes in memory before anything of it is allocated. Two bytes of the wire can be an empty
// message of two hundred: its length alone says little.
#pragma once

#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/message.h>

#include <cstdint>

#include "primitives/core/result.hpp"

namespace znni::rpc {

// At least the bytes that a message of this type takes once `wire` is parsed, unknown fields and what repeated ones
// reserve included; what is counted ends soon after it passes `most`. invalid_argument where the wire is no such
// message, or has groups, or messages within messages beyond any that we know.
[[nodiscard]] Result<std::int64_t> parsed_bytes(const google::protobuf::Descriptor& type,
                                                google::protobuf::io::ZeroCopyInputStream& wire, std::int64_t most);

}  // namespace znni::rpc
