// Receives the input of one stream on a thread of its own, while what has come already is computed and sent back.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "proto/volumes.pb.h"
#include "server/rpc/volumes/volume_upload.hpp"
#include "server/volume/plane_ring.hpp"

namespace znni::rpc {

class VolumeReceiver {
 public:
  // The next message; false at the end of the stream, whose reason `why_ended` tells: nothing when the client has sent
  // all it wanted to. Called on the receiver's thread.
  using Read = std::function<bool(v1::VolumeRequest&)>;
  using WhyEnded = std::function<std::optional<Error>()>;

  // Fills `ring` with bytes [first, last) of the volume, as they come; who reads there waits for them, and gets the
  // error of what is wrong with them.
  VolumeReceiver(PlaneRing& ring, std::int64_t first, std::int64_t last, Read read, WhyEnded why_ended);
  // Waits for the end of the stream.
  ~VolumeReceiver();
  VolumeReceiver(const VolumeReceiver&) = delete;
  VolumeReceiver& operator=(const VolumeReceiver&) = delete;

  // Waits until the client has sent all and said so: what was wrong with it.
  [[nodiscard]] Result<void> finish();
  // Gives the input up: no thread reads it any more. Returns false if the client keeps the stream open without a word
  // for `patience`.
  [[nodiscard]] bool abandon(std::chrono::milliseconds patience);

  // Returns the bytes that were received; valid after the end.
  [[nodiscard]] std::int64_t received_bytes() const { return upload_.received_bytes(); }
  [[nodiscard]] std::chrono::steady_clock::time_point ended_at() const { return ended_at_; }

 private:
  [[nodiscard]] Result<void> receive_all();

  PlaneRing& ring_;
  const Read read_;
  const WhyEnded why_ended_;
  VolumeUpload upload_;
  std::chrono::steady_clock::time_point ended_at_;
  std::mutex mutex_;  // guards result_
  std::condition_variable ended_;
  std::optional<Result<void>> result_;
  std::jthread thread_;  // last: ends before what it uses goes
};

}  // namespace znni::rpc
