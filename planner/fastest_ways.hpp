// The fastest way of one device to compute each layer problem from planar to planar, in float32 throughout:
// described and costed once.
#pragma once

#include <map>

#include "planner/catalogue.hpp"
#include "planner/costs.hpp"

namespace znni {

class FastestWays {
 public:
  // References must outlive it.
  FastestWays(DeviceKind kind, const DeviceSpec& spec, const Catalogue& catalogue, CostSource& costs)
      : kind_(kind), spec_(spec), catalogue_(catalogue), costs_(costs) {}

  // As a step of node 0, with seconds, basis and error of its cost; of equals the first. `unsupported` where nothing
  // computes it so. What `costs` says by model of a GPU counts for nothing beside the formula: records that corrected
  // it would be the CPU's. Valid as long as the table.
  const Result<Step>& get(const LayerProblem& problem);

 private:
  [[nodiscard]] Result<Step> find(const LayerProblem& problem) const;

  DeviceKind kind_;
  const DeviceSpec& spec_;
  const Catalogue& catalogue_;
  CostSource& costs_;
  std::map<LayerProblem, Result<Step>> known_;
};

// A step of `primitive` as `estimate` describes it, planar.
[[nodiscard]] Step make_step(int node, const Primitive& primitive, const Estimate& estimate);
// Planar float32, and no product in fewer bits: setting `tf32` of GPUs' primitives.
[[nodiscard]] bool is_strict(const Estimate& estimate);

}  // namespace znni
