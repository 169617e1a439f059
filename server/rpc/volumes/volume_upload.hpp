// Checks the chunks of an input volume: offsets must rise without gaps, and nothing may be too much or missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "primitives/core/result.hpp"
#include "proto/volumes.pb.h"

namespace znni::rpc {

inline constexpr std::int64_t max_chunk_bytes = 1 << 20;

class VolumeUpload {
 public:
  // Takes the bytes of one chunk after the other; its error ends the upload.
  using Sink = std::function<Result<void>(std::span<const std::byte>)>;

  // Expects bytes [first, last) of the volume.
  VolumeUpload(std::int64_t first, std::int64_t last, Sink sink);

  // Adds a chunk. Fails with invalid_argument and numbers for a gap, for a chunk that is empty or too large, and for
  // more than the volume holds.
  [[nodiscard]] Result<void> add(const v1::VolumeChunk& chunk);
  // Fails with invalid_argument if bytes are missing.
  [[nodiscard]] Result<void> finish() const;
  [[nodiscard]] std::int64_t received_bytes() const { return next_ - first_; }

 private:
  const std::int64_t first_;
  const std::int64_t last_;
  const Sink sink_;
  std::int64_t next_;
};

}  // namespace znni::rpc
