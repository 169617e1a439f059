// The record that an interrupted run leaves beside its partial output, so that --resume continues only the same job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/files/files.hpp"

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
  std::string network;        // field of view and output channels of the model
  bool operator==(const JobIdentity&) const = default;
};

struct ResumeState {
  JobIdentity job;
  std::int64_t planes_done = 0;  // planes of the first part that is not complete
  std::int64_t planes = 0;
  std::string token;  // the daemon's token for that part, model and plan
  // For an output in several parts:
  std::int64_t parts_done = 0;
  std::int64_t part_y = 0;  // extent of a part; 0: one part
  std::int64_t part_x = 0;
  std::string model_token = {};  // the daemon's token for model and plan
  std::string replaces = {};     // output_mark() of the output that existed under this name when the job began
};

// Returns the record's path, beside the output file: "out.h5.prob.partial.json".
[[nodiscard]] std::string resume_path(const FileName& output);
// Reads the record. Returns nullopt if there is none; fails with corrupt_file if it cannot be read.
[[nodiscard]] Result<std::optional<ResumeState>> read_resume(const FileName& output);
// Writes the record atomically: a crash or a power cut leaves the old state or the new one.
[[nodiscard]] Result<void> write_resume(const FileName& output, const ResumeState& state);
void remove_resume(const FileName& output);

// Returns how `now` differs from `then`: "padding: reflect then, none now"; "" if it does not.
[[nodiscard]] std::string difference(const JobIdentity& then, const JobIdentity& now);

}  // namespace znni::client
