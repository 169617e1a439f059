// One ModelInfer request from message to message, without gRPC: checks, admission, compute.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stop_token>
#include <vector>

#include "proto/inference.pb.h"
#include "server/jobs/model_server.hpp"
#include "server/rpc/base/shared_regions.hpp"
#include "server/rpc/base/slab_blocks.hpp"
#include "server/rpc/messages/request_checks.hpp"

namespace znni::rpc {

struct InferTerms {
  std::int64_t max_response_bytes = 0;     // of one message
  const SharedRegions* regions = nullptr;  // nullptr: none are offered, or not to this client
  bool leased = true;  // false: the caller holds memory for a request and a response that are messages already
  std::int64_t* wanted_bytes = nullptr;  // may be; set before memory is leased: AdmittedInfer::held_bytes
  std::int64_t max_request_bytes = std::numeric_limits<std::int64_t>::max();  // voxels in one message
};

// A request that was admitted: what it will need is known, and leased.
struct AdmittedInfer {
  ModelInfo model;
  InferRequest request;
  JobEstimate estimate;                      // of one job of the batch
  VolumeShape output;                        // of one job, channel_major
  std::vector<RegionHandle> input_regions;   // one for each input, nullptr: in the message; none: all are
  std::vector<RegionHandle> output_regions;  // one for each output that is asked for; none: in the message
  TransportLease lease;                      // keep until the response was sent; destroy the request before sending
  std::int64_t lease_bytes = 0;
  std::int64_t held_bytes = 0;         // of request, response and one job's slabs, leased here or not
  std::unique_ptr<SlabBlocks> blocks;  // for the jobs' slabs
  std::int64_t together = 1;           // jobs at a time: as many as share a batch of the engine and have memory
};

// Checks the request and leases its memory, where it must be by less than the estimate first said. The larger of
// request and response stands in memory twice (as gRPC's and as protobuf's copy), or both stand there once; typed
// contents, shared memory and several inputs are copied beside them. Fails with over_budget if the voxels of the
// request, or of the response that it would have, are more than one message may have; invalid_argument, not_found,
// unavailable, unsupported as the checks say.
[[nodiscard]] Result<AdmittedInfer> admit_infer(const inference::ModelInferRequest& request, ModelServer& server,
                                                const InferTerms& terms);

// Called while the jobs of a batch run: JobAccount::in_turn of the first, and JobAccount::gained of each, by several
// threads at once. Either may be empty.
struct InferEvents {
  std::function<void(bool)> in_turn;
  std::function<void(const JobGain&)> gained;
};

// Computes all jobs of the batch into `response`: raw output only, or none when it went to shared memory; id echoed.
// Once: then the blocks are given back. Times and patches are those of all jobs.
[[nodiscard]] Result<JobStatistics> run_infer(const inference::ModelInferRequest& request, AdmittedInfer& admitted,
                                              ModelServer& server, const std::stop_token& stop,
                                              const InferEvents& events, inference::ModelInferResponse& response);

// Returns the voxels of all outputs of the batch.
[[nodiscard]] std::int64_t output_voxels(const AdmittedInfer& admitted);

}  // namespace znni::rpc
