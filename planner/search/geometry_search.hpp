// Looks through candidate geometries for the best rung: cheap proven bounds first, exact combination of nodes
// for what is left. A geometry that is cut could not have won.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/base/stop_question.hpp"
#include "planner/geometry/geometry_family.hpp"
#include "planner/search/candidate_verdict.hpp"
#include "planner/search/found_rung.hpp"
#include "planner/search/search.hpp"

namespace znni {

class SearchFamily;

// Limits that a rung must keep; no bytes include weights.
struct RungQuery {
  std::int64_t total = saturated;  // bytes, persistent + transient
  std::int64_t persistent = saturated;
  std::int64_t transient = saturated;
  std::optional<Vec3> largest_output;  // patches must not write more per axis
  std::optional<Vec3> volume;          // whose voxels per second count
  double floor = 0;                    // voxels per second: slower rungs need not be found
};

class GeometrySearch {
 public:
  // Keeps references to its arguments, which must outlive it. options.threads threads ask costs and primitives at once.
  // `forced`: per node the one primitive to use, or nullptr.
  GeometrySearch(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue, CostSource& costs,
                 const SearchOptions& options, std::vector<const Primitive*> forced);
  ~GeometrySearch();
  GeometrySearch(const GeometrySearch&) = delete;
  GeometrySearch& operator=(const GeometrySearch&) = delete;

  // Returns the candidate with the most voxels per second; of equals the first. Looks at every candidate, or as many as
  // options.stop allows. Returns `best`, if there is one, if no candidate both fits and is faster. The result, log
  // included, is the same for any number of threads.
  std::optional<FoundRung> best(const std::vector<GeometryChoice>& candidates, const RungQuery& query,
                                std::vector<Candidate>* log = nullptr, std::optional<FoundRung> best = std::nullopt);

  // Returns the least persistent + transient bytes of any candidate; nothing if no candidate can be computed at all.
  // The value is meaningless after a stop.
  std::optional<std::int64_t> min_bytes(const std::vector<GeometryChoice>& candidates);

  // Returns the extents that the smallest of them writes, among those looked at before a stop. Requires one that is
  // legal.
  Vec3 smallest_output(const std::vector<GeometryChoice>& candidates);

  // Returns why the last candidate that could not be computed at all could not: node and reasons; "" if all could.
  [[nodiscard]] const std::string& last_refusal() const { return last_refusal_; }
  // Begins a search of first rungs again, with another query: keeps what was worked out, forgets refusals.
  void begin() {
    smaller_ = false;
    last_refusal_.clear();
  }
  // Tells options.progress from now on that candidates are for smaller rungs.
  void turn_to_smaller() { smaller_ = true; }
  // Returns true once options.stop has said so. Every loop over candidates, layers and combinations asks it.
  [[nodiscard]] bool stopped() const { return question_(); }
  // Returns how often a geometry had too many combinations to keep them all (planner/layers/node_choice.hpp).
  [[nodiscard]] std::int64_t cut() const { return cut_; }

 private:
  struct GeometryEvaluation;  // what is known of one candidate so far
  struct Outcome;             // what came of one candidate
  using Families = std::vector<const SearchFamily*>;
  using Verdict = CandidateVerdict;

  // Returns one family for each candidate; fewer after a stop.
  Families families_of(const std::vector<GeometryChoice>& candidates);
  [[nodiscard]] Outcome outcome(const SearchFamily& family, Vec3 pass_input, const RungQuery& query, double to_beat);
  [[nodiscard]] Outcome weigh(GeometryEvaluation& look, const RungQuery& query, double to_beat);
  Verdict lay_out(const SearchFamily& family, Vec3 pass_input, const RungQuery& query, GeometryEvaluation& found) const;
  [[nodiscard]] std::vector<std::vector<bool>> pairings(const GeometryEvaluation& apart, const RungQuery& query);
  [[nodiscard]] bool may_begin_pair(std::size_t node, const GeometryEvaluation& apart);
  [[nodiscard]] GeometryEvaluation in_pairs(const GeometryEvaluation& apart, const std::vector<bool>& absent) const;
  Verdict describe(const RungQuery& query, double to_beat, GeometryEvaluation& found);
  Verdict time(const std::vector<std::size_t>& order, double to_beat, GeometryEvaluation& found);
  Verdict add_node(std::size_t node, const RungQuery& query, double to_beat, GeometryEvaluation& found);
  [[nodiscard]] const LayerOptions& options_of(std::size_t node, const GeometryEvaluation& found);
  [[nodiscard]] Seconds min_seconds(std::size_t node, const GeometryEvaluation& found);
  [[nodiscard]] Verdict undescribed(std::size_t node, const GeometryEvaluation& found) const;
  // Returns the primitive that must compute the node, or nullptr.
  [[nodiscard]] const Primitive* forced(std::size_t node, const GeometryEvaluation& found) const;
  Verdict fit(const GeometryEvaluation& look, const RungQuery& query, double to_beat, std::optional<FoundRung>& rung);
  void lessen(GeometryEvaluation& look, std::optional<std::int64_t>& least);
  [[nodiscard]] FoundRung schedule(const GeometryEvaluation& look, const Assignment& assignment) const;
  [[nodiscard]] static std::int64_t min_live(const GeometryEvaluation& found, std::size_t node);
  static Candidate logged(const GeometryChoice& choice, const Outcome& outcome);
  void learn(const Outcome& outcome);

  const Network& network_;
  const DeviceSpec& spec_;
  const Catalogue& catalogue_;
  const SearchOptions& options_;
  StopQuestion question_;
  std::vector<const Primitive*> forced_;
  std::map<GeometryChoice, std::unique_ptr<SearchFamily>, FamilyOrder> families_;
  Vec3 fov_;
  std::int64_t kernel_bytes_ = 0;
  std::vector<Seconds> seconds_per_operation_;  // per node, of the fastest way last described
  OptionTable table_;
  std::string last_refusal_;
  bool smaller_ = false;
  std::atomic<std::int64_t> cut_ = 0;
};

}  // namespace znni
