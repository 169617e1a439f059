// Looks through candidate geometries for the best rung: cheap proven bounds first, exact combination of nodes
// for what is left. A geometry that is cut could not have won.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "planner/node_choice.hpp"
#include "planner/search.hpp"

namespace znni {

// What a rung must keep; weights are counted in none of the bytes.
struct RungQuery {
  std::int64_t total = saturated;  // bytes, persistent + transient
  std::int64_t persistent = saturated;
  std::int64_t transient = saturated;
  std::optional<Vec3> largest_output;  // patches must not write more per axis
  std::optional<Vec3> volume;          // whose voxels per second count
};

// A geometry with its nodes chosen, as its schedule has it: transient bytes are the packed ones.
struct FoundRung {
  Rung rung;
  Geometry geometry;
  double voxels_per_second = 0;
};

class GeometrySearch {
 public:
  // All references must outlive the search. `forced`: per node the one primitive to use, or nullptr.
  GeometrySearch(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue, CostSource& costs,
                 const SearchOptions& options, std::vector<const Primitive*> forced);

  // The candidate with the most voxels per second; of equals the first. Looks at every candidate, or as many
  // as options.stop allows. `best`, if there is one, when none both fits and is faster.
  std::optional<FoundRung> best(const std::vector<GeometryChoice>& candidates, const RungQuery& query,
                                std::vector<Candidate>* log = nullptr, std::optional<FoundRung> best = std::nullopt);

  // Least persistent + transient bytes of any candidate; nothing when no candidate can be computed at all.
  std::optional<std::int64_t> least_bytes(const std::vector<GeometryChoice>& candidates);

  // Why the last candidate that could not be computed at all could not: node and reasons. "" when all could.
  [[nodiscard]] const std::string& last_refusal() const { return last_refusal_; }
  [[nodiscard]] bool stopped() const { return options_.stop && options_.stop(); }

 private:
  struct Look;  // what is known of one candidate so far
  // Each returns why the candidate is out; "" when it is not.
  std::string look(const GeometryChoice& choice, const RungQuery& query, double to_beat, Look& found);
  std::string add_node(std::size_t node, const RungQuery& query, double to_beat, Look& found);
  std::string fit(const Look& look, const RungQuery& query, double to_beat, std::optional<FoundRung>& rung);
  [[nodiscard]] FoundRung schedule(const Look& look, const Assignment& assignment) const;
  [[nodiscard]] std::vector<Step> steps(const Geometry& geometry, const Assignment& assignment) const;
  [[nodiscard]] static std::int64_t least_live(const Look& found, std::size_t node);
  const NetworkUse& use_of(const Geometry& geometry);
  [[nodiscard]] std::vector<std::size_t> slowest_first(const Geometry& geometry) const;

  const Network& network_;
  const DeviceSpec& spec_;
  const Catalogue& catalogue_;
  const SearchOptions& options_;
  std::vector<const Primitive*> forced_;
  // By Geometry::held, head.last and choice.streamed.
  using UseKey = std::tuple<std::vector<int>, int, bool>;
  std::map<UseKey, NetworkUse> uses_;
  Vec3 fov_;
  std::vector<Seconds> seconds_per_operation_;  // per node, of the fastest way last described
  OptionTable table_;
  std::string last_refusal_;
};

}  // namespace znni
