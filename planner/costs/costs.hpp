// The source of times. The search asks a CostSource and does not know whether the answer was computed, read from disk
// or just measured.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/costs/timings.hpp"
#include "planner/plan/plan.hpp"

namespace znni {

struct Cost {
  Seconds seconds = 0;
  Basis basis = Basis::model;
  double error = 0;  // share of `seconds` that 9 of 10 like this one keep within; 0: unknown
};

// Returns the cost of both, one after the other. Their errors add up, because like layers err alike; the weaker basis
// counts.
[[nodiscard]] Cost together(const Cost& a, const Cost& b);

// Returns the cost of both, if their errors are independent: those of different primitives.
[[nodiscard]] Cost beside(const Cost& a, const Cost& b);

class CostSource {
 public:
  virtual ~CostSource() = default;
  // Returns the time of one run of `primitive` as `estimate` describes it. All threads of a search call this at once.
  virtual Cost cost(const LayerProblem& problem, const Primitive& primitive, const Estimate& estimate) = 0;
  // Returns whether it may have times of the primitive that do not come from its formula.
  [[nodiscard]] virtual bool has_times_of(const Primitive& /*primitive*/) const { return true; }
  // Returns true if cost() of the primitive is always the time of its estimate, as its formula has it.
  [[nodiscard]] virtual bool is_formula_of(const Primitive& /*primitive*/) const { return false; }
};

// Returns a source that gives the formulas of describe() themselves.
[[nodiscard]] std::unique_ptr<CostSource> modelled_costs();

// Returns a source that gives recorded timings first. For the rest it gives the formulas, corrected as the records of
// this device say (planner/costs/calibration.hpp). Sizes that a way was recorded to refuse take so long that they are
// chosen only if there is no other way.
[[nodiscard]] std::unique_ptr<CostSource> recorded_costs(const Timings& timings, const DeviceSpec& spec);

// Returns the corrections of the formulas by the records of this device.
[[nodiscard]] Calibration calibrate(const Timings& timings, const DeviceSpec& spec);

}  // namespace znni
