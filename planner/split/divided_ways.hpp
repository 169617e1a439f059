// The layers of one geometry computed through a GPU from host RAM: convolutions divided, all others on the CPU.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "planner/geometry/geometry.hpp"
#include "planner/layers/divisions.hpp"
#include "planner/layers/fastest_ways.hpp"

namespace znni {

class DividedWays {
 public:
  // References must outlive it. `cpu`: of the layers that are not divided. Divisions that take no less than `below` do
  // not count, nor what is coarser than `precision`. `stop`: true ends the search of divisions (PartRules::stop).
  DividedWays(const Geometry& geometry, const Catalogue& catalogue, const DeviceSpec& gpu, FastestWays& cpu,
              Seconds below = std::numeric_limits<Seconds>::infinity(), Precision precision = Precision::fp32,
              const std::function<bool()>& stop = {});

  // Returns a lower bound on every division of the node: its tensors pass the link and the host's threads once each.
  [[nodiscard]] Seconds copy_seconds(int node);
  // Returns a lower bound, never less than copy_seconds(), by what is known of its divisions without asking a library.
  [[nodiscard]] Seconds least_seconds(int node);

  // The fastest that takes less than `below` and whose parts fit into `budget`'s pinned and device memory; after a stop
  // of those that were described until then. The error says why there is none.
  [[nodiscard]] Result<Step> fastest(int node, const SpaceBytes& budget,
                                     Seconds below = std::numeric_limits<Seconds>::infinity());

 private:
  [[nodiscard]] PartRules rules_of(Precision precision, const std::function<bool()>& stop) const;
  [[nodiscard]] const ConvProblem* convolution(int node) const;
  [[nodiscard]] DivisionSearch& divisions_of(int node);

  const Geometry& geometry_;
  const Catalogue& catalogue_;
  const DeviceSpec& gpu_;
  FastestWays& cpu_;
  Seconds below_;
  PartRules rules_;
  std::vector<const Primitive*> on_gpu_;
  std::vector<std::optional<DivisionSearch>> divisions_;  // per node, once asked for
};

}  // namespace znni
