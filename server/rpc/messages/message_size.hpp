// Bounds what a message becomes in memory before anything of it is allocated. Two bytes of the wire can be an empty
// message of two hundred: its length alone says little.
#pragma once

#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/message.h>

#include <cstdint>

#include "primitives/core/result.hpp"

namespace znni::rpc {

// Returns at least the bytes that a message of this type takes once `wire` is parsed, unknown fields and the reserve of
// repeated ones included; counting ends soon after it passes `most`. Fails with invalid_argument if the wire is not
// such a message, has groups, or nests messages deeper than any that we know.
[[nodiscard]] Result<std::int64_t> parsed_bytes(const google::protobuf::Descriptor& type,
                                                google::protobuf::io::ZeroCopyInputStream& wire, std::int64_t most);

}  // namespace znni::rpc
