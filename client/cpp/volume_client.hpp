// Streams one volume through a model: planes go up while output planes come down. Memory: a few planes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>

#include "client/cpp/connection.hpp"

namespace znni::client {

// The input as it will be sent: [Z][C][Y][X], little-endian.
struct VolumeRequest {
  std::string model;
  std::string version;   // "" = newest
  std::string datatype;  // UINT8, UINT16, FP32
  std::int64_t channels = 1;
  Vec3 n;
  std::string output_datatype;  // FP32, FP16, UINT8
  bool normalised = false;      // voxels already are what the network expects
  // Where an earlier stream of the same volume broke: output planes before this one are not computed again, input
  // planes before it are not sent.
  std::int64_t first_plane = 0;
  std::string resume_token;  // that stream's
};

// What the daemon will send back.
struct Accepted {
  std::int64_t channels = 1;
  Vec3 n;
  std::string datatype;
  Vec3 patch;
  std::int64_t patches = 0;
  double predicted_seconds = 0;
  std::string resume_token;  // "" where a stream cannot be resumed
  std::string model_token;   // what streams with the same one gave belongs together; "" of a daemon that has none
};

// What a stream would be.
struct StreamOutlook {
  Vec3 part;  // of the output: in such parts the volume is computed soonest, the last ones along y and x are smaller
  double seconds = 0;        // predicted of all parts
  double whole_seconds = 0;  // in one stream
};

struct StreamProgress {
  std::int64_t patches_done = 0;
  std::int64_t patches = 0;
  std::int64_t planes_done = 0;
  double part = 0;  // of the patches under way together, in patches
};

struct StreamSummary {
  std::int64_t bytes = 0;  // of output that came
  double seconds = 0;
  double voxels_per_second = 0;
  std::int64_t nonfinite_voxels = 0;  // of the input, that the daemon replaced
};

// Called by infer(), with planes of the whole volume in rising order. `read` from a thread of its own, the others from
// the caller's. An error of any ends the stream and is what infer() returns.
struct VolumeHandlers {
  std::function<Result<void>(std::int64_t plane, std::span<std::byte> bytes)> read;  // one input plane, all images
  std::function<Result<void>(const Accepted&)> accepted;
  std::function<Result<void>(std::int64_t plane, std::span<const std::byte> bytes)> write;  // one output plane
  std::function<void(const StreamProgress&)> progress;
};

// Blocks until the whole output was written, an error, or `stop` (then: cancelled).
[[nodiscard]] Result<StreamSummary> infer(const Connection& connection, const VolumeRequest& request,
                                          const VolumeHandlers& handlers, std::stop_token stop);

// Asked before a volume is streamed. `unsupported` by a daemon that cannot tell.
[[nodiscard]] Result<StreamOutlook> outlook(const Connection& connection, const VolumeRequest& request);

// Bytes of one voxel of a wire datatype; 0 for an unknown one.
[[nodiscard]] std::int64_t datatype_bytes(const std::string& datatype);

}  // namespace znni::client
