// Describes a finished call that carried a volume, or asked about one, for logs and metrics. This layer knows no
// logging library.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace znni::rpc {

struct CallRecord {
  std::string_view method;   // "ModelInfer", "ModelStreamInfer", "Volumes", "Outlook"
  std::string model;         // as the client wrote it, cut and without control characters
  std::string version;       // of the model that ran, or ""
  std::string id;            // as `model`; where the client gave none, a number of ours: "#12"
  std::string_view code;     // "OK", "INVALID_ARGUMENT"
  std::string reason;        // "" when OK
  std::string_view refusal;  // one of `refusals` (server/rpc/calls/refusal.hpp), or ""
  double seconds = 0;        // from the first message to the last; its parts follow, 0 where a call did not come so far
  double receive_seconds = 0;
  double queue_seconds = 0;    // for its turn, and between its patches for the turns of others
  double compute_seconds = 0;  // of a Volumes call with the sending that goes on beside
  double send_seconds = 0;     // after the last voxel was computed
  // Parts of queue_seconds of a Volumes call that could have computed: its input had not come, or its output had no
  // room because earlier output was not taken.
  double input_wait_seconds = 0;
  double output_wait_seconds = 0;
  std::string layers;         // layer_text() of the job: "" of a guest's, and where a GPU took part
  std::int64_t bytes_in = 0;  // voxels as they travelled
  std::int64_t bytes_out = 0;
  std::int64_t voxels = 0;  // dense output voxels
  std::int64_t patches = 0;
  std::int64_t nonfinite_voxels = 0;  // of the input: NaN or infinite, and replaced
};

// Called from many threads at once.
using CallSink = std::function<void(const CallRecord&)>;

// Counts what a call under way has received, computed or sent since it told last. For a call that succeeds these add up
// to the bytes and voxels of its record; for one that fails, to what had happened by then.
struct CallFlow {
  std::string model;    // as the record has them
  std::string version;  // as well
  std::int64_t bytes_in = 0;
  std::int64_t bytes_out = 0;
  std::int64_t voxels = 0;
  std::int64_t patches = 0;
};

// Called from many threads at once, of the same call, too.
using FlowSink = std::function<void(const CallFlow&)>;

}  // namespace znni::rpc
