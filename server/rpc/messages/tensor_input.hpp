// The voxels of a checked request as dense bytes, whichever way they were sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "primitives/core/result.hpp"
#include "proto/inference.pb.h"
#include "server/rpc/base/bytes.hpp"
#include "server/rpc/base/shared_regions.hpp"
#include "server/rpc/messages/request_checks.hpp"

namespace znni::rpc {

// Returns the bytes that input_view() allocates beside the message itself: for several inputs, which become one, for
// those in shared memory, and for typed integers, which travel wider than their type.
[[nodiscard]] std::int64_t converted_bytes(const InferRequest& checked);

// Returns [N][C][Z][Y][X] of the datatype, with the channels of all inputs. Points into `request`, or into `converted`,
// which it fills; both must outlive the view. `regions` are those of the inputs, nullptr for one in the message; none
// if all are. Fails with invalid_argument if a typed value does not fit its datatype, or a region became smaller.
[[nodiscard]] Result<std::span<const std::byte>> input_view(const inference::ModelInferRequest& request,
                                                            const InferRequest& checked,
                                                            std::span<const RegionHandle> regions, Bytes& converted);

}  // namespace znni::rpc
