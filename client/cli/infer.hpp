// `znni infer`: one file through one model into another file.
#pragma once

#include <stop_token>

#include "client/cli/disk_room.hpp"
#include "client/cli/options.hpp"
#include "client/cli/outcome.hpp"

namespace znni::client {

// Runs the job. Fails with invalid_argument, not_found or corrupt_file for errors that the user can correct, with
// cancelled after `stop`. If any plane was written, a failure leaves the partial output and its resume record, and the
// message says how to continue. If `space_of` finds too little room for the output, the job does not begin.
[[nodiscard]] Result<InferOutcome> run_infer(const Options& options, std::stop_token stop,
                                             const SpaceOf& space_of = disk_space);

// Returns the exit code of an error: 2 if the user can correct it, 130 if interrupted, 1 for server and transport.
[[nodiscard]] int exit_code(const Error& error);

}  // namespace znni::client
