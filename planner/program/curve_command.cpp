#include "planner/program/curve_command.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "planner/program/alternatives.hpp"
#include "planner/report/curve_text.hpp"

namespace znni {
namespace {

// Returns the places, with the GPU of this machine (--plugin) if the strategy wants one. Fails if there is none then.
Result<std::optional<MachinePlaces>> places_of_curves(const Session& session) {
  if (!session.options.split) return other_places(session);
  Result<MachinePlaces> places = session_places(session);
  if (!places) return places.error();
  return std::optional(*std::move(places));
}

bool fits_somewhere(const std::vector<StrategyCurves>& curves) {
  return std::any_of(curves.begin(), curves.end(), [](const StrategyCurves& own) {
    return std::any_of(own.memory.begin(), own.memory.end(),
                       [](const CurveSample& sample) { return sample.voxels_per_second > 0; });
  });
}

// Returns why not even the largest limit has a plan: memory, or what no memory mends.
Error nothing_fits(const Network& network, const Session& session, const MemoryRange& range) {
  Progress unseen(std::cerr, false);
  SearchOptions options = search_options(network, session, unseen);
  options.memory_limit = range.to;
  const std::unique_ptr<CostSource> costs = session_costs(session);
  const Result<Plan> plan = search(network, session.spec, session.catalogue, *costs, options);
  if (!plan && plan.error().code != ErrorCode::over_budget) return plan.error();
  return {ErrorCode::over_budget, "no plan for " + network.name + " fits into any memory limit from " +
                                      bytes_text(range.from) + " to " + bytes_text(range.to)};
}

}  // namespace

Result<void> curve_command(const Network& network, const Session& session) {
  const PlannerOptions& options = session.options;
  const MemoryRange range = *options.curve;
  Progress unseen(std::cerr, false);
  if (Result<void> sound = check_options(network, search_options(network, session, unseen)); !sound) return sound;
  const Result<std::optional<MachinePlaces>> found = places_of_curves(session);
  if (!found) return found.error();
  const std::optional<MachinePlaces>& places = *found;
  const std::vector<StrategyCurves> curves =
      Alternatives(network, session, places).curves_within(limits_between(range.from, range.to, options.memory));
  if (interrupted()) warn("interrupted: limits that were not searched yet are missing");
  if (!interrupted() && !fits_somewhere(curves)) return nothing_fits(network, session, range);
  const std::string device = device_name(session.spec, places ? &places->specs.gpu : nullptr);
  const CurveSubject subject{network.name, device, options.volume};
  std::fputs((options.json ? curves_json(subject, curves) : curves_table(subject, curves)).c_str(), stdout);
  return {};
}

}  // namespace znni
