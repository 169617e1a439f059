// `znni infer --dry-run`: prints what a job would read, send and write, in which parts, and the time that the daemon
// predicts.
#pragma once

#include "client/cli/job.hpp"
#include "client/cli/outcome.hpp"

namespace znni::client {

// Returns the text and JSON of a dry run, of `job` as choose_parts() left it and the advice that it returned.
[[nodiscard]] InferOutcome dry_outcome(const Job& job, const Advice& advice);

}  // namespace znni::client
