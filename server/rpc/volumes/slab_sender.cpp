#include "server/rpc/volumes/slab_sender.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "server/rpc/volumes/volume_checks.hpp"
#include "server/rpc/volumes/volume_upload.hpp"

namespace znni::rpc {
namespace {

constexpr std::chrono::milliseconds progress_interval{200};

Error client_gone() { return {ErrorCode::cancelled, "the caller cancelled or is gone"}; }

}  // namespace

bool Pace::due(Time now) {
  if (last_ && now - *last_ < interval_) return false;
  last_ = now;
  return true;
}

SlabSender::SlabSender(const VolumeShape& output, std::int64_t first_plane, SlabBlocks& blocks,
                       std::int64_t max_unsent_bytes, Send send, Now now)
    : output_(output),
      blocks_(blocks),
      max_unsent_bytes_(max_unsent_bytes),
      send_(std::move(send)),
      now_(std::move(now)),
      pace_(progress_interval),
      delivered_planes_(first_plane),
      sent_planes_(first_plane),
      first_offset_(mul(first_plane, plane_bytes(output))),
      offset_(first_offset_) {}

Result<OutputSlab> SlabSender::slab(std::int64_t first_plane, std::int64_t planes) {
  VolumeShape shape = output_;
  shape.n.z = planes;
  const std::int64_t bytes = volume_bytes(shape);
  largest_slab_bytes_ = std::max(largest_slab_bytes_, bytes);
  if (!queue_.wait_for_room(max_unsent_bytes_ - bytes)) return client_gone();
  Result<std::byte*> block = blocks_.take(bytes);
  if (!block) {
    if (!queue_.wait_for_room(0)) return client_gone();
    block = blocks_.take(bytes);
  }
  if (!block) return block.error();
  return OutputSlab{first_plane, *block, shape};
}

bool SlabSender::has_room() { return queue_.has_room(max_unsent_bytes_ - largest_slab_bytes_); }

Result<void> SlabSender::deliver(const OutputSlab& slab) {
  if (slab.first_plane != delivered_planes_) {
    return Error{ErrorCode::internal, "output plane " + std::to_string(slab.first_plane) + " delivered, expected " +
                                          std::to_string(delivered_planes_)};
  }
  delivered_planes_ += slab.shape.n.z;
  if (!queue_.push(volume_bytes(slab.shape), [this, slab] { return send(slab); })) return client_gone();
  return {};
}

bool SlabSender::send(const OutputSlab& slab) {
  const std::int64_t bytes = volume_bytes(slab.shape);
  for (std::int64_t offset = 0; offset < bytes; offset += max_chunk_bytes) {
    const std::int64_t length = std::min(max_chunk_bytes, bytes - offset);
    v1::VolumeChunk& chunk = *chunk_.mutable_chunk();
    chunk.set_offset(offset_);
    chunk.mutable_data()->assign(reinterpret_cast<const char*>(slab.data + offset), static_cast<std::size_t>(length));
    if (!send_(chunk_)) return false;
    offset_ += length;
  }
  sent_planes_ += slab.shape.n.z;
  blocks_.give_back(slab.data);
  return true;
}

Result<void> SlabSender::finish() { return queue_.flush() ? Result<void>() : Result<void>(client_gone()); }

void SlabSender::progress(const JobProgress& progress) {
  const bool last = progress.patches_done == progress.patches;
  if (!last && (progress_waits_ || !pace_.due(now_()))) return;
  progress_waits_ = true;
  v1::VolumeResponse response;
  v1::VolumeProgress& message = *response.mutable_progress();
  message.set_patches_done(progress.patches_done);
  message.set_patches(progress.patches);
  message.set_part(progress.under_way);
  message.set_planes_done(delivered_planes_);
  // A client that is gone is noticed by the watch, or by the next slab.
  static_cast<void>(queue_.push(0, [this, response] {
    const bool sent = send_(response);
    progress_waits_ = false;
    return sent;
  }));
}

VolumeJob make_volume_job(const VolumeView& input, SlabSender& sender) {
  VolumeJob job;
  job.input.volume = input;
  job.sink.slab = [&sender](std::int64_t first_plane, std::int64_t planes) { return sender.slab(first_plane, planes); };
  job.sink.deliver = [&sender](const OutputSlab& slab) { return sender.deliver(slab); };
  job.sink.abandon = [&sender](const OutputSlab& slab) { sender.abandon(slab); };
  job.account.progress = [&sender](const JobProgress& progress) { sender.progress(progress); };
  job.sink.has_room = [&sender] { return sender.has_room(); };
  return job;
}

}  // namespace znni::rpc
