// The layers that `planner measure` runs without a net: small ones of every kind that nets are made of, which correct
// the formulas of all primitives.
#pragma once

#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/costs/costs.hpp"
#include "planner/measure/measured.hpp"

namespace znni {

// A layer with the ways to compute it that are worth timing. The fastest of every primitive is among them, unless it
// takes thirty times as long as the fastest of all.
struct CalibrationTask {
  LayerProblem problem;
  std::vector<Way> ways;
};

// Returns tasks: convolutions of few and of many channels, small and large kernels. Each has two sizes that take a core
// about a tenth of a second, the larger of fragments; poolings; what is done element by element; reorders. All small
// ones first, so that a calibration that is cut short knows a little of everything.
[[nodiscard]] std::vector<CalibrationTask> calibration_set(const Catalogue& catalogue, const DeviceSpec& spec,
                                                           CostSource& costs);

}  // namespace znni
