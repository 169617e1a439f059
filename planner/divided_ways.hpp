// The layers of one geometry computed through a GPU from host RAM: convolutions divided, all others on the CPU.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "planner/divisions.hpp"
#include "planner/fastest_ways.hpp"
#include "planner/geometry.hpp"

namespace znni {

class DividedWays {
 public:
  // References must outlive it. `cpu`: of the layers that are not divided. Divisions that take no less than `below` do
  // not count, nor what is coarser than `precision`.
  DividedWays(const Geometry& geometry, const Catalogue& catalogue, const DeviceSpec& gpu, FastestWays& cpu,
              Seconds below = std::numeric_limits<Seconds>::infinity(), Precision precision = Precision::fp32);

  // No division of the node is faster: its tensors pass the link and the host's threads once each.
  [[nodiscard]] Seconds least_seconds(int node);

  // The fastest whose parts fit into `budget`'s pinned and device memory. The error says why there is none.
  [[nodiscard]] Result<Step> fastest(int node, const SpaceBytes& budget);

 private:
  using Ways = Result<std::vector<DividedOption>>;  // of one convolution, of all primitives of the GPU
  [[nodiscard]] Ways ways_of(const ConvProblem& conv) const;
  [[nodiscard]] PartRules rules_of(Precision precision) const;
  [[nodiscard]] const ConvProblem* convolution(int node) const;

  const Geometry& geometry_;
  const Catalogue& catalogue_;
  const DeviceSpec& gpu_;
  FastestWays& cpu_;
  Seconds below_;
  PartRules rules_;
  std::vector<std::optional<Ways>> ways_;  // per node, once asked for
};

}  // namespace znni
