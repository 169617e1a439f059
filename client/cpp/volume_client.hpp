// Streams one volume through a model: input planes go up while output planes come down. Holds a few planes in memory.
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
  bool normalised = false;      // true: voxels are as the network expects them
  // First output plane to compute, if an earlier stream of the same volume broke. Earlier output planes are not
  // computed again, and earlier input planes are not sent.
  std::int64_t first_plane = 0;
  std::string resume_token;  // token of that stream
};

// The daemon's answer to a request, before the first output plane.
struct Accepted {
  std::int64_t channels = 1;
  Vec3 n;
  std::string datatype;
  Vec3 patch;
  std::int64_t patches = 0;
  double predicted_seconds = 0;
  std::string resume_token;  // "" if the stream cannot be resumed
  std::string model_token;   // outputs of streams with the same token belong together; "" from older daemons
};

// The daemon's prediction for a volume before it is streamed.
struct StreamOutlook {
  // Extent, in the output, of the parts in which the volume is computed fastest; the last along y and x may be smaller.
  Vec3 part;
  double seconds = 0;        // predicted, sum over all parts
  double whole_seconds = 0;  // predicted, in one stream
};

struct StreamProgress {
  std::int64_t patches_done = 0;
  std::int64_t patches = 0;
  std::int64_t planes_done = 0;
  double part = 0;  // progress of all patches under way, in patches
};

struct StreamSummary {
  std::int64_t bytes = 0;  // of the output received
  double seconds = 0;
  double voxels_per_second = 0;
  std::int64_t nonfinite_voxels = 0;  // input voxels that the daemon replaced
};

// Functions that infer() calls, with planes of the whole volume in rising order. It calls `read` from its own thread,
// the others from the caller's thread. An error from any of them ends the stream, and infer() returns it.
struct VolumeHandlers {
  std::function<Result<void>(std::int64_t plane, std::span<std::byte> bytes)> read;  // one input plane, all channels
  std::function<Result<void>(const Accepted&)> accepted;
  std::function<Result<void>(std::int64_t plane, std::span<const std::byte> bytes)> write;  // one output plane
  std::function<void(const StreamProgress&)> progress;
};

// Streams the volume and blocks until the whole output was written. Fails with the first error, with `cancelled` after
// `stop`.
[[nodiscard]] Result<StreamSummary> infer(const Connection& connection, const VolumeRequest& request,
                                          const VolumeHandlers& handlers, std::stop_token stop);

// Asks for a prediction before a volume is streamed. Fails with `unsupported` if the daemon cannot predict.
[[nodiscard]] Result<StreamOutlook> outlook(const Connection& connection, const VolumeRequest& request);

// Returns the bytes of one voxel of a wire datatype; 0 for an unknown one.
[[nodiscard]] std::int64_t datatype_bytes(const std::string& datatype);

}  // namespace znni::client
