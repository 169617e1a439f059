#include "planner/search/search.hpp"

#include <array>

#include "planner/base/text_table.hpp"
#include "planner/search/candidates.hpp"
#include "planner/search/pin_check.hpp"
#include "planner/search/search_session.hpp"

namespace znni {
namespace {

constexpr double most_combinations = 2'000'000;

// All extents are held in memory, and looked at.
Result<void> check_extents(const Network& network, const SearchOptions& options) {
  if (!options.every_extent || options.most_extent < 1) return {};
  double count = 0;
  for (const AxisExtents& extents : patch_extents(network, options)) {
    double product = 1;
    for (const auto& along : extents) product *= static_cast<double>(along.size());
    count += product;
  }
  if (count <= most_combinations) return {};
  return Error{ErrorCode::invalid_argument, "--all-extents: " + count_text(count) + " combinations of extents up to " +
                                                std::to_string(options.most_extent) + "; at most " +
                                                count_text(most_combinations) +
                                                " are looked at: give a smaller --max-extent"};
}

}  // namespace

std::string_view to_string(Strategy strategy) {
  static constexpr std::array<std::string_view, 4> names = {"cpu", "patches", "layerwise", "baseline"};
  return names[static_cast<std::size_t>(strategy)];
}

Result<void> check_options(const Network& network, const SearchOptions& options) {
  if (Result<void> sound = check(network); !sound) return sound;
  const Vec3 fov = reaches(network).back().fov;
  if (options.memory_limit < 1) {
    return Error{ErrorCode::over_budget, "memory limit " + std::to_string(options.memory_limit) + " is below 1"};
  }
  if (options.volume && !covers(*options.volume, fov)) {
    return Error{ErrorCode::invalid_argument,
                 "volume " + to_string(*options.volume) + " is smaller than the field of view " + to_string(fov)};
  }
  if (Result<void> few = check_extents(network, options); !few) return few;
  return check_pins(network, options);
}

Result<Plan> search(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue, CostSource& costs,
                    const SearchOptions& options, SearchLog* log) {
  return SearchSession(network, spec, catalogue, costs, options).within(options.memory_limit, log);
}

}  // namespace znni
