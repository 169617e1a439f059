#include "planner/split/patch_segments.hpp"

#include <algorithm>

namespace znni {

Result<PatchSegments::Known> PatchSegments::design(const Segment& segment, Vec3 before) const {
  const Result<SegmentDesign> made = design_segment(network_, geometry_, segment, before, catalogue_, specs_);
  if (!made) return made.error();
  return Known{segment_bytes(*made), made->fragments()};
}

// Finds what is known of a segment. `before` is that of the first node, so it is equal for equal segments.
const Result<PatchSegments::Known>& PatchSegments::find(const Segment& segment, Vec3 before) {
  auto& same_nodes = known_[{segment.first, segment.last, segment.place}];
  const auto known =
      std::find_if(same_nodes.begin(), same_nodes.end(), [&](const auto& each) { return each.first == segment; });
  if (known != same_nodes.end()) return known->second;
  return same_nodes.emplace_back(segment, design(segment, before)).second;
}

Result<SpaceBytes> PatchSegments::pipeline_bytes_of(const std::vector<Segment>& segments) {
  if (Result<void> sound = check_segments(network_, segments); !sound) return sound.error();
  std::vector<SegmentBytes> all;
  Vec3 before = Vec3::cube(1);
  for (const Segment& segment : segments) {
    const Result<Known>& known = find(segment, before);
    if (!known) return known.error();
    before = before * known->fragments;
    all.push_back(known->bytes);
  }
  return pipeline_bytes(all, geometry_.values.back());
}

}  // namespace znni
