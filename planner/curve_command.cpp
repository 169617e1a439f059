#include "planner/curve_command.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "planner/beside.hpp"
#include "planner/curve_text.hpp"

namespace znni {
namespace {

// Includes the GPU of this machine (--plugin) where the strategy wants one.
std::optional<MachinePlaces> places_of_curves(const Session& session) {
  if (session.machine || !session.options.split) return other_places(session);
  return session_places(session).value();
}

bool fits_somewhere(const std::vector<StrategyCurves>& curves) {
  return std::any_of(curves.begin(), curves.end(), [](const StrategyCurves& own) {
    return std::any_of(own.memory.begin(), own.memory.end(),
                       [](const CurveSample& sample) { return sample.voxels_per_second > 0; });
  });
}

Error nothing_fits(const Network& network, const ByteRange& range) {
  return {ErrorCode::over_budget, "no plan for " + network.name + " fits into any memory limit from " +
                                      bytes_text(range.from) + " to " + bytes_text(range.to)};
}

}  // namespace

Result<void> curve_command(const Network& network, const Session& session) {
  const PlannerOptions& options = session.options;
  const ByteRange range = *options.curve;
  Progress unseen(std::cerr, false);
  if (Result<void> sound = check_options(network, search_options(session, unseen)); !sound) return sound;
  const std::optional<MachinePlaces> places = places_of_curves(session);
  const std::vector<StrategyCurves> curves =
      Beside(network, session, places).curves_within(limits_between(range.from, range.to, options.memory));
  if (interrupted()) warn("interrupted: limits that were not searched yet are missing");
  if (!interrupted() && !fits_somewhere(curves)) return nothing_fits(network, range);
  const std::string device = device_name(session.spec, places ? &places->specs.gpu : nullptr);
  const CurveSubject subject{network.name, device, options.volume};
  std::fputs((options.json ? curves_json(subject, curves) : curves_table(subject, curves)).c_str(), stdout);
  return {};
}

}  // namespace znni
