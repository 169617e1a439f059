// Sends the output of one job as chunks, slab by slab as they are complete, and its progress between them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "proto/volumes.pb.h"
#include "server/pipeline/engine.hpp"
#include "server/rpc/slab_blocks.hpp"

namespace znni::rpc {

// Lets one event through per interval.
class Pace {
 public:
  using Time = std::chrono::steady_clock::time_point;
  explicit Pace(std::chrono::milliseconds interval) : interval_(interval) {}
  [[nodiscard]] bool due(Time now);

 private:
  std::chrono::milliseconds interval_;
  std::optional<Time> last_;
};

// For the job's own thread. Blocks while the client does not take what was sent: that is how a slow client
// slows its own job.
class SlabSender {
 public:
  // False when the client is gone.
  using Send = std::function<bool(const v1::VolumeResponse&)>;

  // `output`: the whole output, plane_major.
  SlabSender(const VolumeShape& output, SlabBlocks& blocks, Send send);

  [[nodiscard]] Result<OutputSlab> slab(std::int64_t first_plane, std::int64_t planes);
  // Slabs come in order. cancelled when the client is gone.
  [[nodiscard]] Result<void> deliver(const OutputSlab& slab);
  // At most five a second, and the last.
  void progress(const JobProgress& progress);

  [[nodiscard]] std::int64_t sent_bytes() const { return sent_bytes_; }
  // Every plane was sent.
  [[nodiscard]] bool complete() const { return sent_planes_ == output_.n.z; }

 private:
  VolumeShape output_;
  SlabBlocks& blocks_;
  Send send_;
  Pace pace_;
  v1::VolumeResponse chunk_;  // used again: keeps its memory
  std::int64_t sent_planes_ = 0;
  std::int64_t sent_bytes_ = 0;
};

// The job that computes `input` and hands its output to `sender`; both must outlive it.
[[nodiscard]] VolumeJob make_volume_job(const VolumeView& input, SlabSender& sender);

}  // namespace znni::rpc
