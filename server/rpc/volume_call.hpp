// One stream of znni.v1.Volumes from header to done. Everything it holds is given back when it ends, however
// it ends: a client killed in mid-stream ends only its own job.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include <chrono>
#include <cstdint>

#include "proto/volumes.grpc.pb.h"
#include "server/rpc/bytes.hpp"
#include "server/rpc/front_door.hpp"
#include "server/rpc/slab_blocks.hpp"
#include "server/rpc/stall.hpp"
#include "server/rpc/volume_checks.hpp"

namespace znni::rpc {

class VolumeCall {
 public:
  using Stream = grpc::ServerReaderWriter<v1::VolumeResponse, v1::VolumeRequest>;

  VolumeCall(FrontDoor& door, grpc::ServerContext& context, Stream& stream);

  // Blocks until the stream has ended; runs on the handler's thread.
  [[nodiscard]] Result<void> run();

 private:
  // What is known before data flows.
  struct Accepted {
    v1::VolumeHeader header;
    ModelInfo model;
    VolumeHead head;
    JobOutlook outlook;
    VolumeShape output;  // plane_major
  };
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] Result<void> serve(const WatchedCall& call);
  [[nodiscard]] Result<Accepted> accept();
  [[nodiscard]] Result<void> lease(const Accepted& accepted);
  [[nodiscard]] Result<void> greet(const Accepted& accepted);
  [[nodiscard]] Result<void> receive();
  [[nodiscard]] Result<void> compute(const Accepted& accepted, const WatchedCall& call);
  [[nodiscard]] Result<void> finish(std::int64_t sent_bytes, const JobStatistics& statistics);

  [[nodiscard]] bool read(v1::VolumeRequest& request);
  [[nodiscard]] bool write(const v1::VolumeResponse& response);
  void record_end(const Result<void>& result);

  FrontDoor& door_;
  grpc::ServerContext& context_;
  Stream& stream_;
  SlabBlocks blocks_;
  TransportLease input_lease_;
  Bytes input_;
  CallRecord record_;
  std::int64_t held_bytes_ = 0;
  Clock::time_point start_;
  Clock::time_point accepted_;
  Clock::time_point computed_;
  Stall stall_;
};

}  // namespace znni::rpc
