#include "planner/train/step_patch.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "planner/base/text_table.hpp"
#include "planner/train/trainable.hpp"
#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

constexpr std::int64_t max_edge = 2048;

// Returns the legal extents of a patch along an axis, rising.
std::vector<std::int64_t> edges_along(const Network& network, int axis, bool sparse) {
  const PoolMode mode = sparse ? PoolMode::plain : PoolMode::fragments;
  const std::vector<PoolingMode> modes(pooling_nodes(network).size(), PoolingMode(mode));
  std::vector<std::int64_t> edges = legal_extents(network, modes, axis, max_edge);
  const std::int64_t frame = framed(network, {})[axis];
  for (std::int64_t& edge : edges) edge -= frame;
  std::erase_if(edges, [](std::int64_t edge) { return edge < 1; });
  return edges;
}

// Returns cubes, nearly, from the smallest patch on.
std::vector<Vec3> cubes(const Network& network, bool sparse) {
  std::array<std::vector<std::int64_t>, 3> legal;
  for (int axis = 0; axis < 3; ++axis) {
    legal[static_cast<std::size_t>(axis)] = edges_along(network, axis, sparse);
    if (legal[static_cast<std::size_t>(axis)].empty()) return {};
  }
  std::vector<Vec3> found;
  for (std::int64_t edge = 1; edge <= max_edge; edge = std::max(edge + 1, edge + edge / 16)) {
    Vec3 patch;
    for (int axis = 0; axis < 3; ++axis) {
      const std::vector<std::int64_t>& edges = legal[static_cast<std::size_t>(axis)];
      const bool is_flat = axis < 3 - network.spatial_rank;
      const auto next = is_flat ? edges.begin() : std::lower_bound(edges.begin(), edges.end(), edge);
      patch[axis] = next == edges.end() ? edges.back() : *next;
    }
    if (found.empty() || found.back() != patch) found.push_back(patch);
  }
  return found;
}

}  // namespace

Result<StepPatch> choose_step_patch(const Network& network, const StepOptions& options, const StepParts& parts) {
  if (Result<void> sound = check_trainable(network); !sound) return sound.error();
  std::optional<StepPatch> best;
  int planned = 0;
  for (const Vec3& patch : cubes(network, options.sparse)) {
    Result<StepPlan> plan = plan_step(network, patch, options, parts);
    if (!plan && (!best || plan.error().code != ErrorCode::over_budget)) return plan.error();
    if (!plan) break;
    ++planned;
    const double rate = static_cast<double>(voxels(plan->output.n)) / plan->seconds;
    if (!best || rate > best->voxels_per_second) best = StepPatch{*std::move(plan), 0, rate};
  }
  if (!best) return refused("network " + network.name + ": its poolings leave no legal patch");
  best->planned = planned;
  return *std::move(best);
}

std::string to_string(const StepPatch& patch) {
  return "patch: " + to_string(patch.plan.input.n) + ", of " + std::to_string(patch.planned) +
         " that fit; it trains most voxels in a second, " + fixed_text(patch.voxels_per_second / 1e6, 3) + " million";
}

}  // namespace znni
