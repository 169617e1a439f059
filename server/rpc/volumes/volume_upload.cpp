#include "server/rpc/volumes/volume_upload.hpp"

#include <string>
#include <utility>

namespace znni::rpc {

VolumeUpload::VolumeUpload(std::int64_t first, std::int64_t last, Sink sink)
    : first_(first), last_(last), sink_(std::move(sink)), next_(first) {}

Result<void> VolumeUpload::add(const v1::VolumeChunk& chunk) {
  const auto bytes = static_cast<std::int64_t>(chunk.data().size());
  const auto invalid = [](std::string message) { return Error{ErrorCode::invalid_argument, std::move(message)}; };
  if (chunk.offset() != next_) {
    return invalid("chunk offset " + std::to_string(chunk.offset()) + " found, expected " + std::to_string(next_));
  }
  if (bytes < 1 || bytes > max_chunk_bytes) {
    return invalid("chunk of " + std::to_string(bytes) + " bytes at offset " + std::to_string(chunk.offset()) +
                   " found, expected 1 to " + std::to_string(max_chunk_bytes));
  }
  if (bytes > last_ - next_) {
    return invalid("at least " + std::to_string(received_bytes() + bytes) + " bytes found, expected " +
                   std::to_string(last_ - first_) + " for the header's extent");
  }
  if (Result<void> taken = sink_(std::as_bytes(std::span(chunk.data()))); !taken) return taken;
  next_ += bytes;
  return {};
}

Result<void> VolumeUpload::finish() const {
  if (next_ == last_) return {};
  return Error{ErrorCode::invalid_argument, std::to_string(received_bytes()) + " bytes found, expected " +
                                                std::to_string(last_ - first_) + " for the header's extent"};
}

}  // namespace znni::rpc
