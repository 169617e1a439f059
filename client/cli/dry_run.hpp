// `znni infer --dry-run`: what a job would read, send and write, in which parts, and how long the daemon predicts that
// to take.
#pragma once

#include "client/cli/infer.hpp"
#include "client/cli/job.hpp"

namespace znni::client {

// `job` as choose_parts() left it, `advice` what that said.
[[nodiscard]] InferOutcome dry_outcome(const Job& job, const Advice& advice);

}  // namespace znni::client
