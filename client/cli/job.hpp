// Everything that `znni infer` knows before the first byte is sent, and what it asks the daemon for.
#pragma once

#include <optional>
#include <string>

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

// What the daemon foretells of a job that begins.
struct Advice {
  std::optional<StreamOutlook> outlook;
  std::optional<Error> missing;  // why there is none; `unsupported`: the daemon is of before
};

// What was begun goes on in its parts; else the daemon is asked for the best, and where it cannot tell all goes in one.
[[nodiscard]] Result<Advice> choose_parts(const Connection& connection, Job& job);
// "in which parts ... is not known, it goes in one stream: " and why.
[[nodiscard]] std::string one_stream_text(const Error& missing);

// Of a part of the output that has `done` planes.
[[nodiscard]] VolumeRequest request_for(const Job& job, const Box& part, std::int64_t done, const std::string& token);

}  // namespace znni::client
