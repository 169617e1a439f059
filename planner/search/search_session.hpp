// Searches of one net, on one device, in one space, under several memory limits: what --explain, --report and --curve
// ask. What does not depend on the limit is worked out once.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "planner/search/geometry_search.hpp"

namespace znni {

class SearchSession {
 public:
  // Keeps references to its arguments, which must outlive it; copies the options. What costs say of a layer must not
  // change while it lives.
  SearchSession(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue, CostSource& costs,
                SearchOptions options);

  // Returns what search() does with this memory limit, errors included. The first call pays for what all share:
  // candidates, their geometries, the ways to compute each layer. Rising limits cost least, because what fits into one
  // fits into the next. `log` is that of search(), but may name other reasons why a candidate was ruled out. One thread
  // at a time.
  [[nodiscard]] Result<Plan> within(std::int64_t memory_limit, SearchLog* log = nullptr);
  // Returns that plan with its first rung alone.
  [[nodiscard]] Result<Plan> first_within(std::int64_t memory_limit, SearchLog* log = nullptr);
  // Adds the other rungs to the plan that first_within() returned last. Its first rung may leave too little memory for
  // smaller ones. The plan then becomes one whose first rung leaves it, unless that is slower by more than 2 %, and
  // `log` is that of its search. A plan for one volume stays as it is.
  void add_others(Plan& plan, SearchLog* log = nullptr);

 private:
  Result<void> make_ready();
  [[nodiscard]] RungQuery query_of_first() const;
  std::optional<FoundRung> best_candidate(RungQuery query, std::vector<Candidate>* log);
  std::optional<FoundRung> first_rung(std::vector<Candidate>* log);
  std::optional<FoundRung> look_around(FoundRung first, const RungQuery& query, std::vector<Candidate>* log);
  void add_smaller(Plan& plan, std::int64_t max_persistent);
  std::optional<Plan> with_room(const Plan& plan, SearchLog* log);
  std::optional<Vec3> add_prompt_stream(Plan& plan, std::vector<GeometryChoice> candidates);
  void add_open_rung(Plan& plan, std::vector<GeometryChoice> candidates);
  std::optional<Vec3> leave_out(const Plan& plan, const std::vector<GeometryChoice>& candidates, RungQuery query);
  void add_ladder(Plan& plan, Vec3 first_output, std::int64_t max_persistent, std::vector<GeometryChoice> candidates);
  [[nodiscard]] std::vector<GeometryChoice> candidates_of_smaller_rungs() const;
  [[nodiscard]] Error refuse();

  const Network& network_;
  const DeviceSpec& spec_;
  Catalogue catalogue_;  // within the precision of the options
  CostSource& costs_;
  SearchOptions options_;  // with the limit in hand
  std::vector<GeometryChoice> candidates_;
  std::unique_ptr<GeometrySearch> geometries_;   // nullptr before the first search
  std::map<std::int64_t, double> reached_;       // by limit: voxels per second of the best candidate
  std::int64_t left_out_ = 0;                    // persistent bytes of smaller rungs that found no room
  std::optional<GeometryChoice> last_left_out_;  // the last of these
};

}  // namespace znni
