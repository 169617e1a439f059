// The error with which a job ends that was asked to stop.
#pragma once

#include "primitives/core/result.hpp"

namespace znni {

[[nodiscard]] inline Error job_cancelled() { return {ErrorCode::cancelled, "the job was cancelled"}; }

}  // namespace znni
