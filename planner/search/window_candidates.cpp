#include "planner/search/window_candidates.hpp"

#include "planner/geometry/closed_axes.hpp"
#include "planner/network/tile_bound.hpp"
#include "planner/search/candidate_modes.hpp"

namespace znni {

Result<void> check_window_options(const Network& network, const SearchOptions& options) {
  if (!is_tile_bound(network)) return {};
  const Result<std::optional<Vec3>> window = volume_of_window(network, options.volume);
  if (!window) return window.error();
  const std::optional<Vec3> pinned = pinned_patch(options.pins, network.spatial_rank);
  if (pinned && *pinned != **window) {
    return Error{ErrorCode::invalid_argument, "the patch is pinned to " + to_string(*pinned) +
                                                  "; the network is bound to its window, and " + to_string(**window) +
                                                  ", its frame included, is the one patch"};
  }
  if (options.pins.S.value_or(1) != 1) {
    return Error{ErrorCode::invalid_argument, "the network is bound to its window: a batch of 1 is right"};
  }
  const Vec3 closed = axes_of_window(network);
  if (Result<void> sound = check_closed(network, closed); !sound) return sound;
  return check_normalised(network, closed);
}

std::vector<GeometryChoice> window_candidates(const Network& network, const SearchOptions& options) {
  const Result<std::optional<Vec3>> window = volume_of_window(network, options.volume);
  ensure(window.has_value() && window->has_value(), "a window, of checked options");
  GeometryChoice choice;
  choice.pass_input = **window;
  choice.modes.resize(pooling_nodes(network).size());
  choice.closed = axes_of_window(network);
  return {choice};
}

}  // namespace znni
