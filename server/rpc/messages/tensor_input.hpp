// The voxels of a checked request as dense bytes, whichever way they were sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "primitives/core/result.hpp"
#include "proto/inference.pb.h"
#include "server/rpc/base/bytes.hpp"
#include "server/rpc/messages/request_checks.hpp"

namespace znni::rpc {

// Bytes input_view() allocates for `request` beside the message itself: typed integers travel wider than
// their type.
[[nodiscard]] std::int64_t converted_bytes(const inference::ModelInferRequest& request, const InferRequest& checked);

// [N][C][Z][Y][X] of the datatype. Points into `request`, or into `converted`, which it fills; both must
// outlive the view. invalid_argument when a typed value does not fit its datatype.
[[nodiscard]] Result<std::span<const std::byte>> input_view(const inference::ModelInferRequest& request,
                                                            const InferRequest& checked, Bytes& converted);

}  // namespace znni::rpc
