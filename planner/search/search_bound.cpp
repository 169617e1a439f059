#include "planner/search/search_bound.hpp"

#include "planner/geometry/geometry.hpp"
#include "planner/network/swap_axes.hpp"

namespace znni {

std::string bound_note(const Network& network, const Plan& plan, std::int64_t max_extent,
                       const std::optional<Vec3>& volume) {
  if (is_tile_bound(network)) return "";
  const GeometryChoice& choice = plan.ladder.front().geometry;
  const Result<Geometry> geometry = make_geometry(network, choice);
  if (!geometry) return "";
  const Vec3 stride = max(reaches(network).back().stride, period(network));
  const Vec3 patch = swap_axes(geometry->patch_input, choice.axis);
  for (int axis = 3 - network.spatial_rank; axis < 3; ++axis) {
    const bool is_step = choice.streamed && axis == choice.axis;
    const bool is_whole = volume && patch[axis] >= (*volume)[axis];
    if (is_step || is_whole || patch[axis] + stride[axis] <= max_extent) continue;
    return "the patch, " + to_string(patch) + ", is as long as --max-extent " + std::to_string(max_extent) +
           " lets it be: a larger one may be faster";
  }
  return "";
}

std::int64_t lifted_bound(const Network& network, const Plan& plan, std::int64_t max_extent) {
  const GeometryChoice& choice = plan.ladder.front().geometry;
  const Result<Geometry> geometry = make_geometry(network, choice);
  if (!geometry) return max_extent;
  const Vec3 patch = swap_axes(geometry->patch_input, choice.axis);
  for (int axis = 0; axis < 3; ++axis) {
    const bool is_step = choice.streamed && axis == choice.axis;
    while (!is_step && patch[axis] > max_extent) max_extent *= 2;
  }
  return max_extent;
}

}  // namespace znni
