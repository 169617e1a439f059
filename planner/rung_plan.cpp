#include "planner/rung_plan.hpp"

#include <algorithm>

#include "planner/throughput.hpp"

namespace znni {
namespace {

PlanKey make_key(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue,
                 const SearchOptions& options) {
  return {network.name,           describe(network),    spec.name,
          spec.threads,           options.memory_limit, std::string(to_string(options.strategy)),
          catalogue.fingerprint()};
}

Prediction predict(const Network& network, const FoundRung& first) {
  Cost calls{0, Basis::measured, 0};
  for (const Segment& segment : first.rung.segments) {
    for (const Step& step : segment.steps) {
      const auto runs = static_cast<double>(runs_of(first.geometry, step.node));
      calls = together(calls, {runs * step.seconds, step.basis, step.error});
    }
  }
  return {first.voxels_per_second, first.rung.seconds, border_cost(network, first.geometry), calls.basis, calls.error};
}

}  // namespace

Plan rung_plan(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue, const SearchOptions& options,
               const FoundRung& found) {
  Plan plan;
  plan.key = make_key(network, spec, catalogue, options);
  plan.predicted = predict(network, found);
  append(plan, found.rung);
  return plan;
}

void append(Plan& plan, Rung rung) {
  plan.memory.weights = rung.memory.weights;
  plan.memory.persistent = add(plan.memory.persistent, rung.memory.persistent);
  plan.memory.transient = std::max(plan.memory.transient, rung.memory.transient);
  plan.ladder.push_back(std::move(rung));
}

}  // namespace znni
