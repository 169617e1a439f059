// The layers of one geometry computed through a GPU from host RAM: convolutions divided, all others on the CPU.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "planner/geometry/geometry.hpp"
#include "planner/layers/divisions.hpp"
#include "planner/layers/fastest_ways.hpp"

namespace znni {

// The least time of all divisions of a convolution that take less than `below`; infinite where there are none.
struct LeastDivided {
  Seconds seconds = 0;
  Seconds below = 0;
};
// The least times that searches worked out, for later searches.
using LeastDividedTimes = std::map<ConvProblem, LeastDivided>;

class DividedWays {
 public:
  // Keeps references to its arguments, which must outlive it. `cpu`: the ways of the layers that are not divided.
  // Divisions that take no less than `below` do not count, nor what is coarser than `precision`. `stop`: true ends the
  // search of divisions (SubLayerRules::stop). `known`: least times of one catalogue, device and precision, to which
  // new ones are added.
  DividedWays(const Geometry& geometry, const Catalogue& catalogue, const DeviceSpec& gpu, FastestWays& cpu,
              LeastDividedTimes& known, Seconds below = std::numeric_limits<Seconds>::infinity(),
              Precision precision = Precision::fp32, const std::function<bool()>& stop = {});

  // Returns a lower bound on every division of the node: its tensors pass the link and the host's threads once each.
  [[nodiscard]] Seconds copy_seconds(int node);
  // Returns a lower bound, never less than copy_seconds(), by what is known of its divisions without asking a library.
  [[nodiscard]] Seconds min_seconds(int node);

  // Returns the fastest step that takes less than `below` and whose sub-layers fit into `budget`'s pinned and device
  // memory; after a stop, the fastest of those described until then. The error says why there is none.
  [[nodiscard]] Result<Step> fastest(int node, const SpaceBytes& budget,
                                     Seconds below = std::numeric_limits<Seconds>::infinity());

 private:
  [[nodiscard]] SubLayerRules rules_of(Precision precision, const std::function<bool()>& stop) const;
  [[nodiscard]] const ConvProblem* convolution(int node) const;
  [[nodiscard]] DivisionSearch& divisions_of(int node);
  [[nodiscard]] Seconds min_divided(int node);

  const Geometry& geometry_;
  const Catalogue& catalogue_;
  const DeviceSpec& gpu_;
  FastestWays& cpu_;
  LeastDividedTimes& known_;
  Seconds below_;
  SubLayerRules rules_;
  std::vector<const Primitive*> on_gpu_;
  std::vector<std::optional<DivisionSearch>> divisions_;  // per node, once asked for
};

}  // namespace znni
