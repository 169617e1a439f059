// `znni infer`: one file through one model into another file.
#pragma once

#include <stop_token>

#include "client/cli/disk_room.hpp"
#include "client/cli/options.hpp"

namespace znni::client {

struct InferOutcome {
  std::string summary;  // for people, one line
  std::string json;     // for machines
};

// Errors: invalid_argument, not_found, corrupt_file for what the user can mend; cancelled when `stop` was
// requested. After a failure a partial output and its resume record are left, if any plane was written; the
// message then says how to go on. An output for which there is no room, as `space_of` says, is not begun.
[[nodiscard]] Result<InferOutcome> run_infer(const Options& options, std::stop_token stop,
                                             const SpaceOf& space_of = disk_space);

// 0 for none; 2 for what the user can mend, 130 when interrupted, 1 for server and transport.
[[nodiscard]] int exit_code(const Error& error);

}  // namespace znni::client
