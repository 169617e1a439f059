// The fastest rung over several places among candidate patches and streams, under limits of each memory.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "planner/geometry/geometry_family.hpp"
#include "planner/search/search.hpp"
#include "planner/split/split_search.hpp"

namespace znni {

// A rung with what it is predicted to give.
struct WeighedRung {
  SplitChoice choice;
  Geometry geometry;
  double voxels_per_second = 0;
};

// Limits that patches must keep.
struct PatchQuery {
  SpaceBytes budget;
  std::optional<Vec3> volume;
  double floor = 0;  // voxels per second: slower ones need not be found
};

// Remembers what layers take: asked again, with another query, it looks up most of it.
class PatchSearch {
 public:
  // Keeps references to its arguments, which must outlive it.
  PatchSearch(const Network& network, const Catalogue& catalogue, CostSource& costs, const PlaceSpecs& specs,
              const CutLimits& limits, const SearchOptions& options);
  PatchSearch(const PatchSearch&) = delete;
  PatchSearch& operator=(const PatchSearch&) = delete;

  // Returns the candidate with the most voxels per second, or `found` where none has more; of equals the first, without
  // layers through host RAM before those with them: most of these are out at once when something fast is known. Of more
  // than options.max_through_host_ram candidates some are looked at with such layers. `log` gets all of them.
  [[nodiscard]] std::optional<WeighedRung> best(const std::vector<GeometryChoice>& candidates, const PatchQuery& query,
                                                SearchLog* log = nullptr,
                                                std::optional<WeighedRung> found = std::nullopt);
  // Returns the best candidate without layers through host RAM.
  [[nodiscard]] std::optional<WeighedRung> best_whole(const std::vector<GeometryChoice>& candidates,
                                                      const PatchQuery& query, SearchLog* log = nullptr,
                                                      std::optional<WeighedRung> found = std::nullopt);

  const Result<GeometryFamily>& family_of(const GeometryChoice& choice);

  // Forgets the reason of an earlier query.
  void begin() { reason_ = no_patch(); }
  // Returns why the last patch that does not fit, or cannot be computed, does not.
  [[nodiscard]] const Error& reason() const { return reason_; }
  [[nodiscard]] bool stopped() const { return options_.stop && options_.stop(); }

 private:
  [[nodiscard]] static Error no_patch() { return {ErrorCode::unsupported, "no legal patch"}; }
  std::optional<WeighedRung> best_of(SplitSearch& search, const std::vector<GeometryChoice>& candidates,
                                     const PatchQuery& query, SearchLog* log, std::optional<WeighedRung> best);
  Result<WeighedRung> look(SplitSearch& search, const GeometryChoice& choice, const PatchQuery& query, double to_beat);
  void tell(const GeometryChoice& choice, const Result<WeighedRung>& found, bool again, SearchLog& log) const;
  [[nodiscard]] Candidate candidate(const GeometryChoice& choice, const WeighedRung& found) const;

  // In no memory such a patch takes less than so many seconds.
  struct LeastSeconds {
    std::optional<Vec3> volume;  // of the query
    double useful = 0;           // voxels of the patch in it
    Seconds seconds = 0;
  };
  struct PatchOrder {
    bool operator()(const GeometryChoice& a, const GeometryChoice& b) const;
  };
  using KnownPatches = std::map<GeometryChoice, LeastSeconds, PatchOrder>;
  KnownPatches& known_of(const SplitSearch& search) { return known_[&search == &simple_ ? 0 : 1]; }

  const Network& network_;
  const SearchOptions& options_;
  Vec3 fov_;
  Vec3 stride_;
  std::map<GeometryChoice, Result<GeometryFamily>, FamilyOrder> families_;
  const PlaceSpecs specs_;
  SplitSearch simple_;                  // without layers through host RAM
  std::optional<SplitSearch> divided_;  // with them, where the strategy has any
  std::array<KnownPatches, 2> known_;   // of either search
  Error reason_ = no_patch();
};

}  // namespace znni
