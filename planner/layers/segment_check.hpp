// Checks which segments a pipeline runs side by side.
#pragma once

#include <vector>

#include "planner/layers/segments.hpp"

namespace znni {

// Returns whether layers of the segment are computed on the CPU.
[[nodiscard]] bool uses_cpu(const SegmentDesign& segment);

// Checks that there is at most one segment each on 'cpu', 'gpu_host_ram' and 'gpu', in this order and not the first
// alone. Fails with `unsupported` if not, or if a head and the segment behind it both compute on the CPU.
[[nodiscard]] Result<void> check_segments(const std::vector<SegmentDesign>& segments);

}  // namespace znni
