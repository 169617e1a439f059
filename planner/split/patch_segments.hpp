// The bytes of the segments of one patch. Cuts of a patch have segments in common, and to design one takes long: it
// asks primitives. So each is designed once.
#pragma once

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/layers/pipeline_bytes.hpp"

namespace znni {

class PatchSegments {
 public:
  // Keeps references to its arguments, which must outlive it. `geometry`: of the patch.
  PatchSegments(const Network& network, const Geometry& geometry, const Catalogue& catalogue, const PlaceSpecs& specs)
      : network_(network), geometry_(geometry), catalogue_(catalogue), specs_(specs) {}

  // Returns pipeline_bytes() of the rung with these segments, or the error of take_apart().
  [[nodiscard]] Result<SpaceBytes> pipeline_bytes_of(const std::vector<Segment>& segments);

 private:
  struct Known {
    SegmentBytes bytes;
    Vec3 fragments;  // of each input
  };
  using Nodes = std::tuple<int, int, Place>;  // the first, the last, where they run
  const Result<Known>& find(const Segment& segment, Vec3 before);
  [[nodiscard]] Result<Known> design(const Segment& segment, Vec3 before) const;

  const Network& network_;
  const Geometry& geometry_;
  const Catalogue& catalogue_;
  const PlaceSpecs& specs_;
  std::map<Nodes, std::vector<std::pair<Segment, Result<Known>>>> known_;
};

}  // namespace znni
