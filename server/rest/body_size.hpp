// What the headers of an inference request say about its body, before any of it is read.
#pragma once

#include <cstdint>

#include "primitives/core/result.hpp"
#include "server/metrics/http_exchange.hpp"

namespace znni::rest {

// In bytes.
struct BodySize {
  std::int64_t json = 0;
  std::int64_t binary = 0;  // behind it
};

// Of names, shapes and parameters beside the voxels, and of JSON before binary data.
inline constexpr std::int64_t most_beside_voxels = std::int64_t{1} << 20;

// `most_voxel_bytes` may come in one request. invalid_argument without one Content-Length, or where
// Inference-Header-Content-Length passes it; unsupported where the body is in chunks, compressed or in parts: nobody
// knows what it unpacks to; over_budget where it is larger than it may be.
[[nodiscard]] Result<BodySize> read_body_size(const HttpRequest& request, std::int64_t most_voxel_bytes);

// Returns true where reading the body to its end is safe, if only to be rid of it.
[[nodiscard]] bool is_plain_body(const HttpRequest& request);

}  // namespace znni::rest
