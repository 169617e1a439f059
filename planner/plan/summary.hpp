// Plans in a few lines.
#pragma once

#include <string>

#include "planner/plan/plan.hpp"

namespace znni {

// Describes a plan from its file alone: what it was made for, patches, primitives per node, prediction, memory.
[[nodiscard]] std::string summary(const Plan& plan);

// Returns "limit 16.00 GiB: 19.60 MiB weights + 0 B persistent + 15.77 GiB transient = 15.79 GiB".
[[nodiscard]] std::string memory_text(const Plan& plan);

// Returns "mpf mpf plain", one word per pooling; "none" if there are none.
[[nodiscard]] std::string modes_text(const std::vector<PoolingMode>& modes);

// Returns ", within 12 %", what 9 of 10 predictions like this one keep; "" if the error is unknown.
[[nodiscard]] std::string error_text(double error);
// Returns "120 voxels/s in an endless volume"; for a plan made for a volume "90 voxels/s in a volume of 40x50x60, 120
// voxels/s in an endless one". It says "in one endless along z" if the patch has the whole volume along y and x.
[[nodiscard]] std::string predicted_rate_text(const Plan& plan);
// Returns "2.00 s a patch"; of a stream in phases "2.00 s a patch, in 4 phases of 500.00 ms": voxels per second are
// those of all phases over all of their time.
[[nodiscard]] std::string patch_seconds_text(const Plan& plan);
// Returns the line that says what was pinned; "" if nothing was.
[[nodiscard]] std::string pins_text(const Plan& plan);

// Returns a format without what every CPU plan has in common: "planar", "blocked8".
[[nodiscard]] std::string layout_text(Format format);

}  // namespace znni
