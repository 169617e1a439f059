// Where times come from. The search asks a CostSource and does not know whether the answer was computed,
// read from disk or just measured.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "planner/plan.hpp"
#include "planner/timings.hpp"

namespace znni {

struct Cost {
  Seconds seconds = 0;
  Basis basis = Basis::model;
};

class CostSource {
 public:
  virtual ~CostSource() = default;
  // Time of one run of `primitive` as `estimate` describes it.
  virtual Cost cost(const LayerProblem& problem, const Primitive& primitive, const Estimate& estimate) = 0;
};

// The formulas of describe() themselves.
[[nodiscard]] std::unique_ptr<CostSource> modelled_costs();

// Recorded timings first, the formulas for the rest: corrected by the ratio recorded/modelled of the same
// primitive, or, where it has no record, of other primitives on layers that differ in extents alone; and, where
// anything was recorded at all, 5 % longer than that.
[[nodiscard]] std::unique_ptr<CostSource> recorded_costs(const Timings& timings, const DeviceSpec& spec);

}  // namespace znni
