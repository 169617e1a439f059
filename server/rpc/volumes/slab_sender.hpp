// Sends the output of one job as chunks, slab by slab as they are complete, on a thread of its own. Between them it
// sends the job's progress. A client that reads slowly does not hold up the engine, until what waits for it is too
// much.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "proto/volumes.pb.h"
#include "server/pipeline/engine.hpp"
#include "server/rpc/base/slab_blocks.hpp"
#include "server/rpc/volumes/send_queue.hpp"

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

// Used by the job's own thread.
class SlabSender {
 public:
  // False when the client is gone. Called on the sender's thread.
  using Send = std::function<bool(const v1::VolumeResponse&)>;
  // The time, by which progress is paced. Called on the job's thread.
  using Now = std::function<Pace::Time()>;

  // Sends the slabs of an output. `output`: the whole output, plane_major, of which the planes from `first_plane` on
  // are sent. At most `max_unsent_bytes` of it wait for the client, beside the slabs that are computed.
  SlabSender(const VolumeShape& output, std::int64_t first_plane, SlabBlocks& blocks, std::int64_t max_unsent_bytes,
             Send send, Now now = std::chrono::steady_clock::now);

  // Waits while too much is unsent, or there is memory for another slab only when what is unsent has gone. Fails with
  // cancelled if the client is gone.
  [[nodiscard]] Result<OutputSlab> slab(std::int64_t first_plane, std::int64_t planes);
  // Returns whether slab() would take a slab as large as the largest so far without waiting for the client.
  [[nodiscard]] bool has_room();
  // Sends a slab; slabs come in order. Does not wait. Fails with cancelled if the client is gone.
  [[nodiscard]] Result<void> deliver(const OutputSlab& slab);
  // Gives up a slab that will not be delivered.
  void abandon(const OutputSlab& slab) { blocks_.give_back(slab.data); }
  // Sends progress, at most five times a second and one waiting at a time; always the last.
  void progress(const JobProgress& progress);
  // Waits until all is sent. Fails with cancelled if the client is gone.
  [[nodiscard]] Result<void> finish();

  // Returns the bytes that were sent; valid after finish().
  [[nodiscard]] std::int64_t sent_bytes() const { return offset_ - first_offset_; }
  // Returns whether every plane was sent.
  [[nodiscard]] bool complete() const { return sent_planes_ == output_.n.z; }

 private:
  [[nodiscard]] bool send(const OutputSlab& slab);  // on the queue's thread

  VolumeShape output_;
  SlabBlocks& blocks_;
  std::int64_t max_unsent_bytes_;
  Send send_;
  Now now_;
  Pace pace_;
  std::int64_t delivered_planes_;
  std::int64_t largest_slab_bytes_ = 0;
  std::atomic<bool> progress_waits_ = false;
  // Used by the queue's thread alone.
  v1::VolumeResponse chunk_;  // used again: keeps its memory
  std::int64_t sent_planes_;
  const std::int64_t first_offset_;
  std::int64_t offset_;  // of the next byte, in the whole output
  SendQueue queue_;      // last: its thread ends before what it uses goes
};

// Returns the job that computes `input` and hands its output to `sender`; both must outlive it.
[[nodiscard]] VolumeJob make_volume_job(const VolumeView& input, SlabSender& sender);

}  // namespace znni::rpc
