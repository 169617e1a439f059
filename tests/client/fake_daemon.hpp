// A daemon for tests of the client: one model "crop" with a field of view of 3x3x3 whose output voxel is the
// middle of its window, as FP32; streams go on with "token". Models "flat" and "line", of fewer axes, can only be asked
// about. Can be told to misbehave.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/server.h>

#include "primitives/core/shape.hpp"

namespace znni::client {

enum class Behaviour {
  sound,
  large_chunks,        // of two planes and a half
  dies_in_the_middle,  // UNAVAILABLE after half of the output
  loses_a_plane,       // VolumeDone too early
  skips_bytes,         // a chunk at the wrong offset
  refuses,             // RESOURCE_EXHAUSTED before anything
  is_retrained,        // another model token
  refuses_nonfinite,   // INVALID_ARGUMENT for an input voxel that is NaN or infinite; others replace and count it
  never_answers,       // takes everything and waits until cancelled
};

struct Habits {
  Vec3 part;                                        // in such parts it wants volumes; none: it cannot tell
  std::string model_token = "model";                // of all streams
  int sound_streams = 0;                            // before it misbehaves
  int misbehaved_streams = 1 << 20;                 // until it is sound again
  grpc::StatusCode outlook = grpc::StatusCode::OK;  // another: in place of parts
  bool marks_answers = true;                        // as its own; not so a proxy's
  Vec3 voxel = {1, 1, 1};                           // of its window that model "crop" gives
  std::string endless_rate = "4280000";             // of its models, as they are described
  double predicted_seconds = 2.5;                   // in parts
};

class FakeDaemon {
 public:
  explicit FakeDaemon(Behaviour behaviour = Behaviour::sound, const Habits& habits = {});
  ~FakeDaemon();
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] int streams() const;  // that began

 private:
  struct Services;
  std::unique_ptr<Services> services_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace znni::client
