// The nets behind the cuts of a network, and their geometries without extents. A search asks for the same ones with
// every patch that it looks at, so each is worked out once.
#pragma once

#include <map>

#include "planner/geometry/geometry_family.hpp"

namespace znni {

class TailFamilies {
 public:
  // Keeps a reference to the network, which must outlive it.
  explicit TailFamilies(const Network& network) : network_(network) {}

  // Returns the net of the nodes from `until` on.
  const Network& network_from(int until);
  // Returns the geometries of that net which differ in their extents alone: of `like` all counts but pass_input. The
  // error is that of make_part_geometry, where no extent would mend it.
  const Result<GeometryFamily>& family_from(int until, const GeometryChoice& like);

 private:
  struct Tail {
    Network network;
    std::map<GeometryChoice, Result<GeometryFamily>, FamilyOrder> families;
  };
  Tail& tail_from(int until);

  const Network& network_;
  std::map<int, Tail> tails_;
};

}  // namespace znni
