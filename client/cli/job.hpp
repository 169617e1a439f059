// Everything that `znni infer` knows before the first byte is sent, and what it asks the daemon for.
#pragma once

#include "client/cli/files.hpp"
#include "client/cli/options.hpp"
#include "client/cli/padded_reader.hpp"
#include "client/cli/parts.hpp"
#include "client/cli/resume.hpp"
#include "client/cpp/volume_client.hpp"

namespace znni::client {

struct Job {
  Options options;
  FileName output;
  PaddedVolume input;
  ModelFacts model;
  Vec3 n_out;
  JobIdentity identity;
  ResumeState begun;  // by an earlier, interrupted run
  Parts parts;        // of the output

  [[nodiscard]] bool goes_on() const { return begun.parts_done + begun.planes_done > 0; }
};

// Errors: what the user can mend, and those of the connection. Opens the input; writes nothing.
[[nodiscard]] Result<Job> make_job(const Options& options, const Connection& connection);

// What was begun goes on in its parts; else the daemon is asked for the best.
[[nodiscard]] Result<void> choose_parts(const Connection& connection, Job& job);

// Of a part of the output that has `done` planes.
[[nodiscard]] VolumeRequest request_for(const Job& job, const Box& part, std::int64_t done, const std::string& token);

}  // namespace znni::client
