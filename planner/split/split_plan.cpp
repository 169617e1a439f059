#include "planner/split/split_plan.hpp"

#include <algorithm>
#include <array>

#include "planner/base/subsample.hpp"
#include "planner/base/text_table.hpp"
#include "planner/geometry/cube.hpp"
#include "planner/plan/summary.hpp"
#include "planner/split/patch_search.hpp"
#include "planner/split/split_pins.hpp"
#include "planner/split/split_session.hpp"

namespace znni {
namespace {

// Returns the edges of up to `most` legal cubes.
std::vector<std::int64_t> cubes(const Network& network, const std::vector<PoolingMode>& modes,
                                const SearchOptions& options, std::size_t most) {
  std::vector<std::int64_t> edges = legal_extents(network, modes, 2, options.max_extent);
  for (int axis = 3 - network.spatial_rank; axis < 2; ++axis) {
    const std::vector<std::int64_t> along = legal_extents(network, modes, axis, options.max_extent);
    std::erase_if(edges, [&](std::int64_t edge) { return !std::binary_search(along.begin(), along.end(), edge); });
  }
  return subsample(edges, most);
}

}  // namespace

std::string_view to_string(SplitStrategy strategy) {
  static constexpr std::array<std::string_view, 3> names = {"gpu", "gpu-host-ram", "cpu-gpu"};
  return names[static_cast<std::size_t>(strategy)];
}

Result<SplitPlan> plan_split(const Network& network, const Catalogue& catalogue, CostSource& costs,
                             const MachinePlaces& places, SplitStrategy strategy, const SearchOptions& options,
                             SearchLog* log) {
  return SplitSession(network, catalogue, costs, places.specs, strategy, options)
      .within(options.memory_limit, places.memory, log);
}

std::vector<Candidate> split_cubes(const Network& network, const Catalogue& catalogue, CostSource& costs,
                                   const MachinePlaces& places, SplitStrategy strategy, const SearchOptions& options,
                                   std::size_t count) {
  if (!check_places(network, strategy)) return {};
  const PatchQuery query{split_budget(places.memory, options.memory_limit, weight_bytes(network)), options.volume};
  const std::vector<PoolingMode> modes(pooling_nodes(network).size(), PoolMode::fragments);
  SearchLog log;
  const Result<CutLimits> cuts = pinned_cuts(network, strategy, options.pins);
  if (!cuts) return {};
  PatchSearch search(network, catalogue, costs, places.specs, *cuts, options);
  for (const std::int64_t edge : cubes(network, modes, options, count)) {
    static_cast<void>(search.best({{cube_of(edge, network.spatial_rank), 1, modes}}, query, &log));
  }
  std::erase_if(log.candidates, [](const Candidate& each) { return !each.refused.empty(); });
  return log.candidates;
}

std::string split_summary(const SplitPlan& plan) {
  std::string text = summary(plan.plan) + "places     ";
  const std::vector<Rung>& ladder = plan.plan.ladder;
  const auto on_cpu_alone = std::count_if(ladder.begin(), ladder.end(), on_cpu);
  const auto with_gpu = static_cast<std::ptrdiff_t>(ladder.size()) - on_cpu_alone;
  const Rung& rung = plan.plan.ladder.front();
  for (const Segment& segment : rung.segments) {
    if (segment.first > 0) text += ", then ";
    text += "nodes " + std::to_string(segment.first) + " to " + std::to_string(segment.last) + " on " +
            std::string(to_string(segment.place));
    if (segment.micro_batch.inputs > 0) text += " in micro-batches of " + std::to_string(segment.micro_batch.inputs);
  }
  return text + "\ntogether   CPU " + seconds_text(plan.seconds.cpu) + ", GPU " + seconds_text(plan.seconds.gpu) +
         " a patch; " + to_string(plan.bytes) + "\nsmaller    " + std::to_string(with_gpu - 1) + " rungs with the GPU" +
         "\nfallback   " +
         (on_cpu_alone > 0 ? std::to_string(on_cpu_alone) + " rungs on the CPU" : "none: " + plan.no_fallback) + "\n";
}

}  // namespace znni
