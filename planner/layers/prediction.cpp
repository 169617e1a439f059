#include "planner/layers/prediction.hpp"

#include <map>
#include <string>
#include <utility>

#include "planner/layers/schedule.hpp"
#include "planner/plan/pairs.hpp"
#include "planner/plan/throughput.hpp"

namespace znni {
namespace {

std::vector<Step*> steps_within(Rung& rung) {
  std::vector<Step*> all;
  for (Segment& segment : rung.segments) {
    for (Step& step : segment.steps) all.push_back(&step);
  }
  return all;
}

void set_cost(Step& step, const Cost& cost) {
  step.seconds = cost.seconds;
  step.basis = cost.basis;
  step.error = cost.error;
}

// Prices the steps of a rung. A step is one call, or two with its reorder.
Result<void> price(Rung& rung, const Network& network, const Geometry& geometry, const Catalogue& catalogue,
                   const DeviceSpec& spec, CostSource& costs) {
  const std::vector<Step*> steps = steps_within(rung);
  const std::vector<Step> values = steps_of(rung);
  const Result<Schedule> schedule = make_schedule(network, geometry, values, catalogue, spec);
  if (!schedule) return schedule.error();
  std::vector<Cost> sums(steps.size(), Cost{0, Basis::measured, 0});
  for (const Call& call : schedule->calls) {
    Cost& sum = sums[static_cast<std::size_t>(call.step)];
    sum = together(sum, costs.cost(call.problem, *call.primitive, call.estimate));
  }
  rung.seconds = copy_seconds(network, with_pairs(network, geometry, left_out_values(network, values)), spec);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (sums[i].seconds > 0) set_cost(*steps[i], sums[i]);  // an input that is not reordered has no call
    rung.seconds += static_cast<double>(runs_of(geometry, steps[i]->node)) * steps[i]->seconds;
  }
  return {};
}

}  // namespace

Cost cost_of_steps(const Rung& rung, const std::function<double(const Segment&, const Step&)>& runs) {
  std::map<std::string, Cost> of_primitives;
  for (const Segment& segment : rung.segments) {
    for (const Step& step : segment.steps) {
      Cost& like = of_primitives.try_emplace(step.primitive, Cost{0, Basis::measured, 0}).first->second;
      like = together(like, {runs(segment, step) * step.seconds, step.basis, step.error});
    }
  }
  Cost all{0, Basis::measured, 0};
  for (const auto& [primitive, cost] : of_primitives) all = beside(all, cost);
  return all;
}

Prediction predict(const Network& network, const Geometry& geometry, const Rung& rung, double voxels_per_second) {
  const Cost all = cost_of_steps(
      rung, [&](const Segment&, const Step& step) { return static_cast<double>(runs_of(geometry, step.node)); });
  return {voxels_per_second, rung.seconds, border_cost(network, geometry), all.basis, all.error};
}

Result<Plan> predict_again(Plan plan, const Network& network, const Catalogue& catalogue, const DeviceSpec& device,
                           const std::function<std::unique_ptr<CostSource>(const DeviceSpec&)>& costs) {
  if (needs_gpu(plan)) return Error{ErrorCode::unsupported, "times of a plan with a GPU are not predicted again"};
  const Result<DeviceSpec> spec = device_of_rungs(plan, device);
  if (!spec) return spec.error();
  const std::unique_ptr<CostSource> source = costs(*spec);
  const Seconds before = plan.ladder.front().seconds;
  for (std::size_t i = 0; i < plan.ladder.size(); ++i) {
    Rung& rung = plan.ladder[i];
    const Result<Geometry> geometry = make_geometry(network, rung.geometry);
    if (!geometry) return geometry.error();
    if (Result<void> priced = price(rung, network, *geometry, catalogue, *spec, *source); !priced) {
      return priced.error().within("rung " + std::to_string(i));
    }
    if (i > 0) continue;
    const double rate = plan.predicted.voxels_per_second * before / rung.seconds;
    const double endless = plan.predicted.endless_voxels_per_second * before / rung.seconds;
    plan.predicted = predict(network, *geometry, rung, rate);
    plan.predicted.endless_voxels_per_second = endless;
  }
  return plan;
}

}  // namespace znni
