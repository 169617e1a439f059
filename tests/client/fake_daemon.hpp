// A daemon for tests of the client. Its model "crop" has a field of view of 3x3x3 and returns the middle voxel of the
// window, as FP32. "token" resumes a stream. Models "bound" and "wide" do the same, and say that they
// have windows of 9x6x8 and 9x7x8. Models "flat" and "line", of fewer axes, only have metadata. The daemon can be told
// to misbehave.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <grpcpp/server.h>

#include "primitives/core/shape.hpp"

namespace znni::client {

enum class Behaviour {
  sound,
  large_chunks,        // sends chunks of two and a half planes
  dies_in_the_middle,  // UNAVAILABLE after half of the output
  loses_a_plane,       // sends VolumeDone too early
  skips_bytes,         // sends a chunk at the wrong offset
  refuses,             // RESOURCE_EXHAUSTED at once
  is_retrained,        // has another model token
  refuses_nonfinite,   // INVALID_ARGUMENT for an input voxel that is NaN or infinite; others replace and count it
  never_answers,       // takes all input and waits until cancelled
};

struct Habits {
  Vec3 part = {};                                      // parts that it advises; none: it cannot predict
  std::string model_token = "model";                   // token of all streams
  int sound_streams = 0;                               // number of sound streams before it misbehaves
  int misbehaved_streams = 1 << 20;                    // number of misbehaved streams before it is sound again
  grpc::StatusCode outlook = grpc::StatusCode::OK;     // if not OK, the status that Outlook returns
  bool marks_answers = true;                           // true: marks its own statuses; a proxy does not
  Vec3 voxel = {1, 1, 1};                              // position in the window that model "crop" returns
  std::string endless_rate = "4280000";                // in the metadata of its models
  double predicted_seconds = 2.5;                      // in parts
  int loading_questions = 0;                           // questions for a model before it has loaded
  std::map<std::string, std::string> properties = {};  // more metadata of its models
};

class FakeDaemon {
 public:
  // Listens on a free port, or on "unix:PATH".
  explicit FakeDaemon(Behaviour behaviour = Behaviour::sound, const Habits& habits = {}, const std::string& at = "");
  ~FakeDaemon();
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] int streams() const;  // number of streams that began

 private:
  struct Services;
  std::unique_ptr<Services> services_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

}  // namespace znni::client
