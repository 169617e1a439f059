// Reads from the headers of an inference request how long its body is, before any of it is read.
#pragma once

#include <cstdint>

#include "primitives/core/result.hpp"
#include "server/metrics/http_exchange.hpp"

namespace znni::rest {

// Counts bytes.
struct BodySize {
  std::int64_t json = 0;
  std::int64_t binary = 0;  // behind the JSON
};

// Returns the most bytes of names, shapes and parameters beside voxels of `max_voxel_bytes` at most, and of JSON
// before binary data: a quarter of those, from 16 KiB to 1 MiB. A turn to receive has three times the voxels. In it are
// a body (voxels and this), the voxels that its numbers become, of two bytes for four; and the texts in the rest of it.
[[nodiscard]] std::int64_t max_beside_voxels(std::int64_t max_voxel_bytes);

// Returns the lengths of a body whose voxels have `max_voxel_bytes` at most. Fails with invalid_argument without one
// Content-Length, or if Inference-Header-Content-Length passes it. Fails with unsupported if the body is in chunks,
// compressed or in parts: its length says nothing about what it unpacks to. Fails with over_budget if it is larger than
// it may be.
[[nodiscard]] Result<BodySize> read_body_size(const HttpRequest& request, std::int64_t max_voxel_bytes);

// Returns true if the body may be read to its end, be it only to discard it.
[[nodiscard]] bool is_plain_body(const HttpRequest& request);

}  // namespace znni::rest
