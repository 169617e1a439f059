// Searches again beside the search that made a plan, with the same costs: for --explain, --report and --curve. A part
// of the program, as planner/program/session.hpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/program/session.hpp"
#include "planner/report/curves.hpp"

namespace znni {

// Returns the places of --machine; nothing where it has no GPU that could be planned for.
[[nodiscard]] std::optional<MachinePlaces> other_places(const Session& session);

// Refers to network, session and places, which must outlive it. It plans for all sockets of a machine together.
class Alternatives {
 public:
  // Takes `places` for plans over CPU and GPU; nothing: there are none.
  Alternatives(const Network& network, const Session& session, const std::optional<MachinePlaces>& places);

  // Tells what more memory would be worth to a plan (planner/report/curves.hpp).
  [[nodiscard]] std::string next_better(const Plan& plan);
  // Returns the next better alternative. `searches`: those that found the plan.
  [[nodiscard]] std::string next_better(const SplitPlan& plan, PlaceSearches& searches);

  // Samples the strategy of the session and the naive one, and those with a GPU if there are places. Samples by memory
  // within these limits and by size of the patch.
  [[nodiscard]] std::vector<StrategyCurves> curves(const std::vector<std::int64_t>& limits);
  // Samples the same strategies by memory alone.
  [[nodiscard]] std::vector<StrategyCurves> curves_within(const std::vector<std::int64_t>& limits);

 private:
  [[nodiscard]] std::vector<Strategy> on_cpu() const;
  StrategyCurves by_limits(Strategy strategy, const std::vector<std::int64_t>& limits);
  StrategyCurves by_limits(SplitStrategy strategy, const std::vector<std::int64_t>& limits);
  std::vector<CurveSample> by_sizes(Strategy strategy);
  std::vector<CurveSample> by_sizes(SplitStrategy strategy);
  template <class Any>
  StrategyCurves both_of(Any strategy, const std::vector<std::int64_t>& limits);
  std::vector<CurveSample> in_memories(const std::string& strategy, const PlanWithin& within,
                                       const std::vector<std::int64_t>& limits);
  SplitSession& searches_of(SplitStrategy strategy);
  CurveSetting setting(Strategy strategy);

  const Network& network_;
  const Session& session_;
  const std::optional<MachinePlaces>& places_;
  Progress progress_;
  std::unique_ptr<CostSource> costs_;
  SearchOptions options_;
  std::map<SplitStrategy, std::unique_ptr<SplitSession>> splits_;  // once asked for
};

}  // namespace znni
