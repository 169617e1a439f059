// What an interrupted run leaves beside its partial output, so that --resume goes on only with the same job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/cli/files.hpp"

namespace znni::client {

// Everything that decides the voxels of an output.
struct JobIdentity {
  std::string input;
  std::string model;
  std::string version;
  std::string bbox;
  std::string padding;
  std::string dtype;
  std::string normalisation;  // "model", or "scale,offset"
  std::string input_state;    // bytes and time of last change of the input file
  std::string network;        // field of view and images of the model
  bool operator==(const JobIdentity&) const = default;
};

struct ResumeState {
  JobIdentity job;
  std::int64_t planes_done = 0;  // of the part behind those that are done
  std::int64_t planes = 0;
  std::string token;  // the daemon's, for that part, model and plan
  // Of an output in several parts.
  std::int64_t parts_done = 0;
  std::int64_t part_y = 0;  // extent of a part; 0: it is all one
  std::int64_t part_x = 0;
  std::string model_token = {};  // the daemon's, for model and plan
  std::string replaces = {};     // output_mark() of what stood in the output's place when it was begun
};

// Beside the output file: "out.h5.prob.partial.json".
[[nodiscard]] std::string resume_path(const FileName& output);
// nullopt when there is none; corrupt_file when it cannot be read.
[[nodiscard]] Result<std::optional<ResumeState>> read_resume(const FileName& output);
// Atomic: a crash or a power cut leaves the old state or the new one.
[[nodiscard]] Result<void> write_resume(const FileName& output, const ResumeState& state);
void remove_resume(const FileName& output);

// How `now` differs from what was begun: "padding: reflect then, none now"; "" when it does not.
[[nodiscard]] std::string difference(const JobIdentity& then, const JobIdentity& now);

}  // namespace znni::client
