// Predicts the time of a plan from its steps, and again when there are other timings.
#pragma once

#include <functional>
#include <memory>

#include "planner/costs/costs.hpp"
#include "planner/geometry/geometry.hpp"
#include "planner/plan/plan.hpp"

namespace znni {

// Returns the cost of a rung's steps one after the other, each `runs` times: steps of one primitive err alike, those of
// different ones independently.
[[nodiscard]] Cost cost_of_steps(const Rung& rung, const std::function<double(const Segment&, const Step&)>& runs);

// Returns the prediction of a rung whose steps have their times: basis and error bar of all of them, each as often as
// it runs.
[[nodiscard]] Prediction predict(const Network& network, const Geometry& geometry, const Rung& rung,
                                 double voxels_per_second);

// Returns the plan with new times, bases and error bars of its steps, rungs and prediction. They are what `costs` now
// tells of the device that a rung runs on; the choices stay. Voxels per second change as the seconds of the first rung
// do. Requires that the plan runs on `device` (check() of planner/plan/plan.hpp); Fails with unsupported if the plan
// needs a GPU, whose times come from elsewhere.
[[nodiscard]] Result<Plan> predict_again(Plan plan, const Network& network, const Catalogue& catalogue,
                                         const DeviceSpec& device,
                                         const std::function<std::unique_ptr<CostSource>(const DeviceSpec&)>& costs);

}  // namespace znni
