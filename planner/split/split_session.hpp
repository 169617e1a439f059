// Searches over several places of one net, on one machine, under several limits of memory: what --explain, --report and
// --curve ask. What does not depend on the limits is worked out once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "planner/search/search_session.hpp"
#include "planner/split/patch_search.hpp"
#include "planner/split/split_plan.hpp"

namespace znni {

// Fails for a network that the strategy cannot place. One that pads or upsamples is not cut.
[[nodiscard]] Result<void> check_places(const Network& network, SplitStrategy strategy);

// Returns the budget of a plan on a machine with these memories. An eighth of the `limit` bytes of host RAM, beside the
// weights, is left for rungs of the CPU.
[[nodiscard]] SpaceBytes split_budget(const SpaceBytes& machine, std::int64_t limit, std::int64_t weights);

class SplitSession {
 public:
  // Keeps references to its arguments, which must outlive it; copies the options. What costs say of a layer must not
  // change while it lives.
  SplitSession(const Network& network, const Catalogue& catalogue, CostSource& costs, const PlaceSpecs& specs,
               SplitStrategy strategy, SearchOptions options);
  SplitSession(const SplitSession&) = delete;  // its search refers to its options
  SplitSession& operator=(const SplitSession&) = delete;

  // Returns what plan_split() does with this limit and these memories of the machine, errors included. The first call
  // pays for what all share: candidates, the ways to compute each layer. Rising limits cost least, because what fits
  // into one fits into the next. One thread at a time.
  [[nodiscard]] Result<SplitPlan> within(std::int64_t memory_limit, const SpaceBytes& memory, SearchLog* log = nullptr);
  // Returns that plan with its first rung alone, which takes a part of the time.
  [[nodiscard]] Result<SplitPlan> first_within(std::int64_t memory_limit, const SpaceBytes& memory,
                                               SearchLog* log = nullptr);

 private:
  struct Reached {
    SpaceBytes budget;
    double of_candidates = 0;  // voxels per second of the best, before its neighbours were looked at
    WeighedRung found;
  };

  Result<void> make_ready();
  std::optional<WeighedRung> first_rung(const PatchQuery& query, SearchLog* log);
  std::optional<WeighedRung> best_candidate(PatchQuery query, SearchLog* log);
  [[nodiscard]] std::optional<WeighedRung> best_reached(const SpaceBytes& budget) const;
  [[nodiscard]] SplitPlan plan_of(WeighedRung best) const;
  Result<void> add_fallback(Plan& plan);
  const Result<Plan>& fallback_within(std::int64_t memory_limit);

  const Network& network_;
  const Catalogue& catalogue_;
  CostSource& costs_;
  const PlaceSpecs specs_;
  SplitStrategy strategy_;
  SearchOptions options_;  // with the limit in hand
  std::vector<GeometryChoice> candidates_;
  SearchSession fallback_;                          // of rungs of the CPU
  std::map<std::int64_t, Result<Plan>> fallbacks_;  // rungs of the CPU, by their limit
  std::unique_ptr<PatchSearch> patches_;            // nullptr before the first search
  std::vector<Reached> reached_;                    // each budget that a rung was found for
};

}  // namespace znni
