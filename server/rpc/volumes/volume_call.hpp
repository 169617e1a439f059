// Serves one stream of znni.v1.Volumes from header to done. A thread receives input into a ring of planes, the
// handler's own computes what has come, and a third sends the output. The call gives everything back when it ends,
// however it ends: a client killed in mid-stream ends only its own job.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/sync_stream.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "proto/volumes.pb.h"
#include "server/rpc/base/bytes.hpp"
#include "server/rpc/base/slab_blocks.hpp"
#include "server/rpc/calls/caller.hpp"
#include "server/rpc/calls/front_door.hpp"
#include "server/rpc/calls/stall.hpp"
#include "server/rpc/volumes/slab_sender.hpp"
#include "server/rpc/volumes/volume_checks.hpp"
#include "server/rpc/volumes/volume_receiver.hpp"

namespace znni::rpc {

class VolumeCall {
 public:
  using Stream = grpc::ServerReaderWriter<v1::VolumeResponse, grpc::ByteBuffer>;

  VolumeCall(FrontDoor& door, grpc::ServerContext& context, Stream& stream);

  // Blocks until the stream has ended; runs on the handler's thread.
  [[nodiscard]] Result<void> run();

 private:
  // Holds what is known before data flows.
  struct Accepted {
    v1::VolumeHeader header;
    ModelInfo model;
    VolumeHead head;
    JobEstimate estimate;  // of the planes that are left
    VolumeShape output;    // of the whole volume, plane_major
    std::string token;     // to go on with when this stream breaks
    // The whole input is received before the job begins: its model needs that, or it is one batch that others share.
    bool in_memory = false;
  };
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] Result<void> serve(const WatchedCall& call);
  [[nodiscard]] Result<Accepted> accept();
  void give_back();  // blocks and input, and what was leased for them
  [[nodiscard]] Result<void> look_and_lease(Accepted& accepted);
  [[nodiscard]] Result<void> lease(const Accepted& accepted);
  [[nodiscard]] Result<void> greet(const Accepted& accepted);
  [[nodiscard]] Result<void> stream(const Accepted& accepted, const WatchedCall& call);
  [[nodiscard]] Result<void> compute_and_send(const Accepted& accepted, PlaneRing& ring, VolumeReceiver& receiver,
                                              SlabSender& sender, const std::stop_token& stop);
  [[nodiscard]] Result<JobStatistics> compute(const Accepted& accepted, PlaneRing& ring, SlabSender& sender,
                                              const std::stop_token& stop);
  // Returns whether the job can go on. Its thread asks while it waits for its client.
  [[nodiscard]] bool can_go_on(const PlaneRing& ring, SlabSender& sender);
  [[nodiscard]] Result<void> finish(VolumeReceiver& receiver, std::int64_t sent_bytes, const JobStatistics& statistics);

  // Reads the next message. Returns false at the end of the stream, or if what came is not a message, as no_message_
  // then says.
  [[nodiscard]] bool read(v1::VolumeRequest& request);
  [[nodiscard]] bool read_first(v1::VolumeRequest& request);
  [[nodiscard]] bool read_more(v1::VolumeRequest& request);  // on the receiver's thread
  [[nodiscard]] std::optional<Error> why_ended() const { return no_message_ ? no_message_ : gone(context_); }
  [[nodiscard]] bool write(const v1::VolumeResponse& response);
  [[nodiscard]] bool send(const v1::VolumeResponse& response);  // on the sender's thread
  void record_end(const Result<void>& result);

  FrontDoor& door_;
  grpc::ServerContext& context_;
  Stream& stream_;
  SlabBlocks blocks_;
  TransportLease input_lease_;
  Bytes input_;  // the ring's
  CallRecord record_;
  std::optional<ModelInfo> model_;                // that was found
  std::atomic<std::int64_t> received_bytes_ = 0;  // voxels, as the next
  std::atomic<std::int64_t> sent_bytes_ = 0;
  std::int64_t wanted_bytes_ = 0;  // of the memory of requests, at least; 0 before that is known
  std::int64_t held_bytes_ = 0;
  Clock::time_point start_;
  Clock::time_point accepted_;
  Clock::time_point computed_;
  std::optional<Error> no_message_;        // of who reads
  Stall header_stall_;                     // before the job
  Stall input_stall_;                      // of the job's thread
  Stall output_stall_;                     // of the one that sends
  std::optional<Stall::Wait> input_wait_;  // while the job wants input that has not come
  double* waits_for_ = nullptr;            // what of the record the time since then belongs to
  Clock::time_point waits_since_;
};

}  // namespace znni::rpc
