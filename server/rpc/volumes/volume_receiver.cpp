#include "server/rpc/volumes/volume_receiver.hpp"

#include <utility>

namespace znni::rpc {

VolumeReceiver::VolumeReceiver(PlaneRing& ring, std::int64_t first, std::int64_t last, Read read, WhyEnded why_ended)
    : ring_(ring),
      read_(std::move(read)),
      why_ended_(std::move(why_ended)),
      upload_(first, last, [this](std::span<const std::byte> bytes) { return ring_.write(bytes, {}); }),
      thread_([this] {
        Result<void> result = receive_all();
        if (!result) ring_.fail(result.error());
        const std::lock_guard lock(mutex_);
        ended_at_ = std::chrono::steady_clock::now();
        result_ = std::move(result);
        ended_.notify_all();
      }) {}

VolumeReceiver::~VolumeReceiver() {
  ring_.close();
  thread_.join();
}

Result<void> VolumeReceiver::receive_all() {
  v1::VolumeRequest request;
  while (read_(request)) {
    if (!request.has_chunk()) {
      return Error{ErrorCode::invalid_argument,
                   "a message without VolumeChunk found, expected chunks after the header"};
    }
    if (Result<void> added = upload_.add(request.chunk()); !added) return added;
  }
  if (std::optional<Error> error = why_ended_()) return *error;
  return upload_.finish();
}

Result<void> VolumeReceiver::finish() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return result_.has_value(); });
  return *result_;
}

bool VolumeReceiver::abandon(std::chrono::milliseconds patience) {
  ring_.close();
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, patience, [this] { return result_.has_value(); });
}

}  // namespace znni::rpc
