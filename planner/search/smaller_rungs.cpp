#include "planner/search/smaller_rungs.hpp"

#include <algorithm>

namespace znni {
namespace {

constexpr int halvings = 3;  // rungs between the first and the smallest

}  // namespace

Vec3 measure_of(const Geometry& first) {
  const Vec3 output = first.patch_output;
  return first.choice.streamed ? Vec3::cube(std::max(output.y, output.x)) : output;
}

void add_smaller_rungs(const Network& network, Vec3 first, Vec3 smallest, const AddRung& add) {
  Vec3 largest = first;
  Vec3 division = reaches(network).back().fov == Vec3::cube(1) ? Vec3{2, 2, 1} : Vec3::cube(2);
  for (int level = 0; level <= halvings; ++level) {
    largest = level < halvings ? max(largest / division, smallest) : smallest;
    division = Vec3::cube(2);
    if (const std::optional<Vec3> written = add(largest)) largest = *written;
  }
}

}  // namespace znni
