// One job on a pipeline, head and tail one after the other (server/pipeline/split/pipeline.hpp).
#pragma once

#include <stop_token>

#include "server/pipeline/split/pipeline.hpp"

namespace znni {

// Runs a job, as Pipeline::run() says, whose input is given by `source`. `output`: the whole dense one of what is left.
[[nodiscard]] Result<PipelineStatistics> run_head_and_tail(const VolumeJob& job, PlaneSource& source,
                                                           const Shape5& output, std::int64_t max_planes,
                                                           Pipeline::State& state, const std::stop_token& stop);

}  // namespace znni
