// Makes a rung from a combination of nodes: its steps, and the bytes that its schedule takes.
#pragma once

#include <cstddef>
#include <optional>

#include "planner/costs/catalogue.hpp"
#include "planner/layers/node_choice.hpp"
#include "planner/plan/plan.hpp"

namespace znni {

// A geometry with its nodes chosen, as its schedule has it: transient bytes are the packed ones.
struct FoundRung {
  Rung rung;
  Geometry geometry;
  double voxels_per_second = 0;
};

// The best rung so far: of equals that of the first candidate, and before all of them the one that was there.
struct LeadingRung {
  std::optional<FoundRung> best;
  std::optional<std::size_t> candidate;  // nothing: the one that was there

  [[nodiscard]] double voxels_per_second() const { return best ? best->voxels_per_second : 0; }
  // Takes it if it is better; in any order of candidates the outcome is the same.
  void offer(FoundRung rung, std::size_t number);
};

// Makes the rung of a combination that combine() gave for this geometry and primitives of the catalogue. Leaves seconds
// and voxels per second to the caller.
[[nodiscard]] FoundRung found_rung(const Network& network, Geometry geometry, const Assignment& assignment,
                                   const Catalogue& catalogue, const DeviceSpec& spec);

}  // namespace znni
