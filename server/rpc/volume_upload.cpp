#include "server/rpc/volume_upload.hpp"

#include <cstring>
#include <string>

namespace znni::rpc {

Result<void> VolumeUpload::add(const v1::VolumeChunk& chunk) {
  const auto bytes = static_cast<std::int64_t>(chunk.data().size());
  const auto invalid = [](std::string message) { return Error{ErrorCode::invalid_argument, std::move(message)}; };
  if (chunk.offset() != received_) {
    return invalid("chunk offset " + std::to_string(chunk.offset()) + " found, expected " + std::to_string(received_));
  }
  if (bytes < 1 || bytes > most_chunk_bytes) {
    return invalid("chunk of " + std::to_string(bytes) + " bytes at offset " + std::to_string(chunk.offset()) +
                   " found, expected 1 to " + std::to_string(most_chunk_bytes));
  }
  const auto expected = static_cast<std::int64_t>(volume_.size());
  if (bytes > expected - received_) {
    return invalid("at least " + std::to_string(received_ + bytes) + " bytes found, expected " +
                   std::to_string(expected) + " for the header's extent");
  }
  std::memcpy(volume_.data() + received_, chunk.data().data(), chunk.data().size());
  received_ += bytes;
  return {};
}

Result<void> VolumeUpload::finish() const {
  if (received_ == static_cast<std::int64_t>(volume_.size())) return {};
  return Error{ErrorCode::invalid_argument, std::to_string(received_) + " bytes found, expected " +
                                                std::to_string(volume_.size()) + " for the header's extent"};
}

}  // namespace znni::rpc
