// Collects the chunks of an input volume into one block. Offsets must rise without gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "primitives/core/result.hpp"
#include "proto/volumes.pb.h"

namespace znni::rpc {

inline constexpr std::int64_t most_chunk_bytes = 1 << 20;

class VolumeUpload {
 public:
  // `volume` is filled from its start; the caller's.
  explicit VolumeUpload(std::span<std::byte> volume) : volume_(volume) {}

  // invalid_argument, with numbers: a gap, a chunk that is empty or too large, more than the volume holds.
  [[nodiscard]] Result<void> add(const v1::VolumeChunk& chunk);
  // invalid_argument when bytes are missing.
  [[nodiscard]] Result<void> finish() const;

 private:
  std::span<std::byte> volume_;
  std::int64_t received_ = 0;
};

}  // namespace znni::rpc
