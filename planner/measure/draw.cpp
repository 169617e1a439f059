#include "planner/measure/draw.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <utility>

#include "planner/search/candidates.hpp"
#include "planner/search/rung_plan.hpp"

namespace znni {
namespace {

constexpr std::size_t tries_for_each = 100;
// Plans get all of the memory, or a half, a quarter, an eighth of it.
constexpr std::uint64_t shares = 4;

using Forced = std::vector<const Primitive*>;

// Returns the time until the first output: for a stream, after the steps whose output is dropped, in all phases.
Seconds first_output(const Network& network, const FoundRung& found) {
  const Rung& rung = found.rung;
  if (!rung.geometry.streamed) return rung.seconds;
  const std::int64_t before = reaches(network).back().fov[rung.geometry.axis] - 1;
  const std::int64_t planes = rung.geometry.pass_input.z;
  const std::int64_t steps = (before + planes - 1) / planes + 1;
  return rung.seconds * static_cast<double>(found.geometry.phases * steps);
}

class Drawer {
 public:
  Drawer(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue, CostSource& costs,
         const SearchOptions& options, const DrawOptions& draw)
      : network_(network),
        spec_(spec),
        catalogue_(catalogue),
        costs_(costs),
        options_(options),
        draw_(draw),
        random_(draw.seed),
        candidates_(make_candidates(network, options)) {}

  std::vector<Plan> at_random() {
    std::vector<Plan> plans;
    for (std::size_t tries = draw_.count * tries_for_each; tries > 0 && wants_more(plans); --tries) {
      if (candidates_.empty()) break;
      const GeometryChoice& choice = candidates_[below(candidates_.size())];
      add(best(choice, some_primitives(choice), static_cast<int>(below(shares))), plans);
    }
    return plans;
  }

  std::vector<Plan> next_to(const GeometryChoice& chosen) {
    std::vector<std::pair<double, const GeometryChoice*>> order;
    for (const GeometryChoice& choice : candidates_) {
      if (choice != chosen) order.emplace_back(distance(chosen, choice), &choice);
    }
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Plan> plans;
    for (const auto& [far, choice] : order) {
      if (!wants_more(plans)) break;
      add(best(*choice, Forced(network_.nodes.size(), nullptr), 0), plans);
    }
    return plans;
  }

 private:
  [[nodiscard]] bool wants_more(const std::vector<Plan>& plans) const {
    return plans.size() < draw_.count && !(options_.stop && options_.stop());
  }

  std::size_t below(std::uint64_t count) { return static_cast<std::size_t>(random_() % count); }

  // Forces a random primitive that computes it on about every other node; leaves the others free.
  Forced some_primitives(const GeometryChoice& choice) {
    Forced forced(network_.nodes.size(), nullptr);
    const Result<Geometry> geometry = make_geometry(network_, choice);
    if (!geometry) return forced;
    for (std::size_t node = 0; node < forced.size(); ++node) {
      if (below(2) == 0) continue;
      Forced able;
      for (const Primitive* primitive : catalogue_.primitives()) {
        const bool here = primitive->device == spec_.kind;
        if (here && primitive->describe(geometry->problems[node], spec_)) able.push_back(primitive);
      }
      if (!able.empty()) forced[node] = able[below(able.size())];
    }
    return forced;
  }

  std::optional<FoundRung> best(const GeometryChoice& choice, Forced forced, int halvings) {
    GeometrySearch geometries(network_, spec_, catalogue_, costs_, options_, std::move(forced));
    RungQuery query;
    query.total = (options_.memory_limit >> halvings) - weight_bytes(network_);
    query.volume = options_.volume;
    return query.total > 0 ? geometries.best({choice}, query) : std::nullopt;
  }

  void add(const std::optional<FoundRung>& found, std::vector<Plan>& plans) {
    if (!found || first_output(network_, *found) > draw_.max_seconds) return;
    Plan plan = rung_plan(network_, spec_, catalogue_, options_, *found);
    const auto same = [&](const Plan& other) { return other.ladder == plan.ladder; };
    if (std::none_of(plans.begin(), plans.end(), same)) plans.push_back(std::move(plan));
  }

  // Returns the distance of two choices: the ratios of extents in powers of e, a tenth for each other difference, and 1
  // if only one is streamed.
  static double distance(const GeometryChoice& a, const GeometryChoice& b) {
    constexpr double other = 0.1;
    double sum = 0;
    for (int axis = 0; axis < 3; ++axis) {
      sum += std::abs(std::log(static_cast<double>(a.pass_input[axis]) / static_cast<double>(b.pass_input[axis])));
    }
    for (const bool differs : {a.S != b.S, a.modes != b.modes, a.stem_slab != b.stem_slab, a.axis != b.axis}) {
      sum += differs ? other : 0;
    }
    return a.streamed == b.streamed ? sum : sum + 1;
  }

  const Network& network_;
  const DeviceSpec& spec_;
  const Catalogue& catalogue_;
  CostSource& costs_;
  const SearchOptions& options_;
  const DrawOptions& draw_;
  std::mt19937_64 random_;
  std::vector<GeometryChoice> candidates_;
};

}  // namespace

Result<std::vector<Plan>> draw_plans(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue,
                                     CostSource& costs, const SearchOptions& options, const DrawOptions& draw) {
  if (Result<void> sound = check_options(network, options); !sound) return sound.error();
  return Drawer(network, spec, catalogue, costs, options, draw).at_random();
}

Result<std::vector<Plan>> neighbours(const Plan& plan, const Network& network, const DeviceSpec& spec,
                                     const Catalogue& catalogue, CostSource& costs, const SearchOptions& options,
                                     const DrawOptions& draw) {
  if (Result<void> sound = check_options(network, options); !sound) return sound.error();
  return Drawer(network, spec, catalogue, costs, options, draw).next_to(plan.ladder.front().geometry);
}

}  // namespace znni
