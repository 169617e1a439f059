// Tells when a search ended at its own bound.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/network/network.hpp"
#include "planner/plan/plan.hpp"

namespace znni {

// Returns a line that says so if the first rung's patch would pass `max_extent` voxels with one more stride along an
// axis. It is empty if the patch could not have that stride. So the volume, if there is one, must go on there, and the
// patch is not a stream's along that axis. Otherwise "".
[[nodiscard]] std::string bound_note(const Network& network, const Plan& plan, std::int64_t max_extent,
                                     const std::optional<Vec3>& volume);

// Returns what of the doubles of `max_extent` the first rung's patch needed; `max_extent` itself if it is no longer.
[[nodiscard]] std::int64_t lifted_bound(const Network& network, const Plan& plan, std::int64_t max_extent);

}  // namespace znni
