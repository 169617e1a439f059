// A job of `znni infer`: what is known before the first byte is sent, and the requests to the daemon.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "client/cli/options.hpp"
#include "client/cli/padded_reader.hpp"
#include "client/cli/parts.hpp"
#include "client/cli/resume.hpp"
#include "client/cpp/volume_client.hpp"
#include "client/files/files.hpp"

namespace znni::client {

struct Job {
  Options options;
  FileName output;
  PaddedVolume input;
  ModelFacts model;
  Vec3 n_out;
  Vec3 streamed;  // extent of what the daemon sends
  Box kept;       // of that, the output
  JobIdentity identity;
  ResumeState begun;  // state that an earlier, interrupted run left
  Parts parts;        // of the output

  // Returns true if the daemon sends more than the output, for a box that depends on its surroundings.
  [[nodiscard]] bool is_cut() const { return streamed != n_out; }
  // Returns the voxel of the input to which the output's first voxel belongs.
  [[nodiscard]] Vec3 offset() const;
  [[nodiscard]] bool goes_on() const { return begun.parts_done + begun.planes_done > 0; }
};

// Opens the input and asks the daemon for the model; writes nothing. Waits for a model that is still loading, with
// --resume also for a daemon that is not there. Fails with errors that the user can correct and with those of the
// connection.
[[nodiscard]] Result<Job> make_job(const Options& options, const Connection& connection, const std::stop_token& stop);

// The daemon's prediction for a job that begins.
struct Advice {
  std::optional<StreamOutlook> outlook;
  std::optional<Error> missing;  // why there is no outlook; `unsupported`: the daemon is too old
};

// Chooses the parts of the output. A continued job keeps its parts. A new job asks the daemon for the fastest ones, and
// uses one part if the daemon cannot predict.
[[nodiscard]] Result<Advice> choose_parts(const Connection& connection, Job& job);
// Returns "in which parts ... is not known, it goes in one stream: " and the reason.
[[nodiscard]] std::string one_stream_text(const Error& missing);

// Returns the request for a part of the output of which `done` planes exist.
[[nodiscard]] VolumeRequest request_for(const Job& job, const Box& part, std::int64_t done, const std::string& token);

}  // namespace znni::client
