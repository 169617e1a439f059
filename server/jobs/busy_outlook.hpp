// On which rung a job is done soonest while others of its model are inside.
#pragma once

#include <cstdint>

#include "server/pipeline/engine.hpp"

namespace znni {

// `fastest`: the engine's outlook for a job that is alone. `waiting`: jobs that wait behind the one that has the
// model's turn and may be small, too; 0 where this one cannot share a batch. Small patches that run between the steps
// of a stream, or patches that share a batch with those of other small jobs where as many wait as would fill it (and
// never instead of running between the steps of a stream): unless they take much longer.
[[nodiscard]] JobOutlook outlook_while_busy(const Engine& engine, const VolumeShape& input, ElementType output,
                                            const JobOutlook& fastest, std::int64_t waiting);

}  // namespace znni
