#include "planner/search/search.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "planner/base/text_table.hpp"
#include "planner/search/candidates.hpp"
#include "planner/search/pin_check.hpp"
#include "planner/search/search_bound.hpp"
#include "planner/search/search_session.hpp"
#include "planner/search/window_candidates.hpp"

namespace znni {
namespace {

constexpr double max_combinations = 2'000'000;

// Fails if all extents are too many: they are held in memory, and looked at.
Result<void> check_extents(const Network& network, const SearchOptions& options) {
  if (!options.every_extent || options.max_extent < 1) return {};
  double count = 0;
  for (const AxisExtents& extents : patch_extents(network, options)) {
    double product = 1;
    for (const auto& along : extents) product *= static_cast<double>(along.size());
    count += product;
  }
  if (count <= max_combinations) return {};
  return Error{ErrorCode::invalid_argument, "--all-extents: " + count_text(count) + " combinations of extents up to " +
                                                std::to_string(options.max_extent) + "; at most " +
                                                count_text(max_combinations) +
                                                " are looked at: give a smaller --max-extent"};
}

// Returns whether the bound on extents may have ended the search: the patch is as long as the bound, or more than half
// as long while much memory is left, because good extents may lie beyond.
bool may_be_bounded(const Network& network, const Plan& plan, const SearchOptions& options) {
  const std::int64_t most = options.max_extent;
  if (is_tile_bound(network)) return false;
  if (options.volume && covers(Vec3::cube(most), *options.volume)) return false;
  if (!bound_note(network, plan, most, options.volume).empty()) return true;
  const bool is_long = lifted_bound(network, plan, most / 2) > most / 2;
  return is_long && plan.memory.total() < options.memory_limit / 10 * 9;
}

}  // namespace

std::string_view to_string(Strategy strategy) {
  static constexpr std::array<std::string_view, 4> names = {"cpu", "patches", "layerwise", "baseline"};
  return names[static_cast<std::size_t>(strategy)];
}

Result<void> check_options(const Network& network, const SearchOptions& options) {
  if (Result<void> sound = check(network); !sound) return sound;
  const Vec3 fov = reaches(network).back().fov;
  if (Result<void> sound = check_window_options(network, options); !sound) return sound;
  if (options.memory_limit < 1) {
    return Error{ErrorCode::over_budget, "memory limit " + std::to_string(options.memory_limit) + " is below 1"};
  }
  if (options.volume && !covers(*options.volume, fov)) {
    return Error{ErrorCode::invalid_argument,
                 "volume " + to_string(*options.volume) + " is smaller than the field of view " + to_string(fov)};
  }
  if (options.volume) {
    const Vec3 volume = *options.volume - network.frame.begin - network.frame.end;
    if (Result<void> sound = check_volume(network, volume); !sound) return sound;
  }
  if (Result<void> few = check_extents(network, options); !few) return few;
  return check_pins(network, options);
}

Result<Plan> search(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue, CostSource& costs,
                    const SearchOptions& options, SearchLog* log) {
  SearchOptions own = options;
  auto session = std::make_unique<SearchSession>(network, spec, catalogue, costs, own);
  Result<Plan> best = session->first_within(own.memory_limit, log);
  while (best && options.lifts_extent && own.max_extent < max_lifted_extent && !(own.stop && own.stop()) &&
         may_be_bounded(network, *best, own)) {
    own.max_extent = std::min(2 * own.max_extent, max_lifted_extent);
    SearchLog lifted;
    auto further = std::make_unique<SearchSession>(network, spec, catalogue, costs, own);
    Result<Plan> next = further->first_within(own.memory_limit, log == nullptr ? nullptr : &lifted);
    const double before = best->predicted.voxels_per_second;
    if (!next || next->predicted.voxels_per_second <= before) break;
    best = std::move(next);
    session = std::move(further);
    if (log != nullptr) *log = std::move(lifted);
    if (best->predicted.voxels_per_second < worth_lifting * before) break;
  }
  if (best) session->add_others(*best, log);
  return best;
}

}  // namespace znni
