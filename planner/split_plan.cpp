#include "planner/split_plan.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "planner/split_streams.hpp"
#include "planner/streams.hpp"
#include "planner/summary.hpp"
#include "planner/text_table.hpp"
#include "planner/thinned.hpp"
#include "planner/throughput.hpp"

namespace znni {
namespace {

CutLimits limits_of(SplitStrategy strategy) {
  return {strategy == SplitStrategy::cpu_gpu, strategy != SplitStrategy::gpu};
}

SpaceBytes budget_of(const SpaceBytes& machine, std::int64_t host) {
  return {host, machine.pinned > 0 ? std::min(machine.pinned, host) : host, machine.device};
}

std::vector<std::int64_t> cubes(const Network& network, const std::vector<PoolingMode>& modes,
                                const SearchOptions& options, std::size_t most) {
  std::vector<std::int64_t> edges;
  const std::vector<std::int64_t> along_x = legal_extents(network, modes, 2, options.most_extent);
  const int first = 3 - network.spatial_rank;
  for (const std::int64_t edge : along_x) {
    bool legal = true;
    for (int axis = first; axis < 2; ++axis) {
      const std::vector<std::int64_t> along = legal_extents(network, modes, axis, options.most_extent);
      legal = legal && std::binary_search(along.begin(), along.end(), edge);
    }
    if (legal) edges.push_back(edge);
  }
  return thinned(edges, most);
}

// What a chosen rung is predicted to give.
struct Weighed {
  SplitChoice choice;
  Seconds seconds = 0;
  double voxels_per_second = 0;
};

Weighed weigh_up(const Network& network, SplitChoice choice, const DeviceSpec& cpu, const SearchOptions& options) {
  const Geometry geometry = make_geometry(network, choice.rung.geometry).value();
  Geometry copied = geometry;
  copied.histories = no_histories(network);                    // of a stream: the segments' own
  const Seconds copying = copy_seconds(network, copied, cpu);  // the CPU's, beside its layers
  const Seconds seconds = std::max(choice.seconds.cpu + copying, choice.seconds.gpu);
  const double useful = useful_voxels(geometry, reaches(network).back().fov, options.volume);
  choice.rung.seconds = seconds;
  return {std::move(choice), seconds, useful / seconds};
}

// Steps of the rung get the basis and the error of their costs; those of divided layers stay the model's.
Cost name_bases(const Network& network, const Catalogue& catalogue, CostSource& costs, const PlaceSpecs& specs,
                Rung& rung) {
  const Result<RungSegments> parts = take_apart(network, rung, catalogue, specs);
  ensure(parts.has_value(), "a rung that was just weighed does not come apart");
  Cost all{0, Basis::measured, 0};
  for (std::size_t i = 0; i < rung.segments.size(); ++i) {
    const SegmentDesign& design = parts->segments[i];
    for (const Call& call : design.schedule.calls) {
      Step& step = rung.segments[i].steps[static_cast<std::size_t>(call.step)];
      if (step.division.empty() && !call.is_reorder) {
        const Cost cost = costs.cost(call.problem, *call.primitive, call.estimate);
        step.basis = cost.basis;
        step.error = cost.error;
      }
      const auto groups = static_cast<double>(design.groups());
      all = together(all, {groups * call.estimate.time, step.basis, step.error});
    }
  }
  return all;
}

// Rungs of the CPU within a quarter of the limit: for a GPU that fails, and for volumes that they suit better. None
// where no memory is left for them.
void add_spare(const Network& network, const Catalogue& catalogue, CostSource& costs, const DeviceSpec& cpu,
               const SearchOptions& options, Plan& plan) {
  SearchOptions own = options;
  const std::int64_t room = options.memory_limit - plan.memory.total();
  own.memory_limit = add(plan.memory.weights, std::min(room, options.memory_limit / 4));
  Result<Plan> spare = search(network, cpu, catalogue, costs, own);
  if (!spare) return;
  plan.ladder.insert(plan.ladder.end(), spare->ladder.begin(), spare->ladder.end());
  plan.memory.persistent = add(plan.memory.persistent, spare->memory.persistent);
  plan.memory.transient = add(plan.memory.transient, spare->memory.transient);
}

}  // namespace

std::string_view to_string(SplitStrategy strategy) {
  static constexpr std::array<std::string_view, 3> names = {"gpu", "gpu-host-ram", "cpu-gpu"};
  return names[static_cast<std::size_t>(strategy)];
}

Result<SplitPlan> plan_split(const Network& network, const Catalogue& catalogue, CostSource& costs,
                             const MachinePlaces& places, SplitStrategy strategy, const SearchOptions& options,
                             std::size_t most_cubes, SearchLog* log) {
  if (Result<void> sound = check(network); !sound) return sound.error();
  const std::int64_t weights = weight_bytes(network);
  const SpaceBytes budget = budget_of(places.memory, std::max<std::int64_t>(0, options.memory_limit - weights));
  const std::vector<PoolingMode> modes(pooling_nodes(network).size(), PoolMode::fragments);
  std::optional<Weighed> best;
  Error reason{ErrorCode::unsupported,
               "no legal cube of " + network.name + " up to " + std::to_string(options.most_extent)};
  // Whether there is memory for the patch.
  const auto look_at = [&](const GeometryChoice& patch) {
    if (options.stop && options.stop()) {
      reason = {ErrorCode::cancelled, "the search was stopped before it found one"};
      return false;
    }
    Result<SplitChoice> choice = choose_split(network, patch, catalogue, places.specs, budget, limits_of(strategy));
    if (!choice || add(choice->bytes.host, choice->bytes.pinned) > budget.host) {
      reason = choice ? Error{ErrorCode::over_budget, "needs " + to_string(choice->bytes)} : choice.error();
      if (log != nullptr) log->candidates.push_back({patch, 0, {}, reason.message});
      return false;
    }
    Weighed candidate = weigh_up(network, *std::move(choice), places.specs.cpu, options);
    if (log != nullptr) {
      const MemoryUse memory{weights, 0, add(candidate.choice.bytes.host, candidate.choice.bytes.pinned)};
      log->candidates.push_back({patch, candidate.voxels_per_second, memory, ""});
    }
    if (!best || candidate.voxels_per_second > best->voxels_per_second) best = std::move(candidate);
    return true;
  };
  for (const std::int64_t edge : cubes(network, modes, options, most_cubes)) {
    Vec3 input = Vec3::cube(edge);
    if (network.spatial_rank == 2) input.z = 1;
    look_at({input, 1, modes});
  }
  try_streams(network, options, look_at);
  if (!best) return reason.within("no plan for strategy " + std::string(to_string(strategy)));
  SplitPlan made;
  made.bytes = best->choice.bytes;
  made.seconds = best->choice.seconds;
  Rung rung = std::move(best->choice.rung);
  rung.memory = {weights, 0, add(made.bytes.host, made.bytes.pinned)};
  const Cost cost = name_bases(network, catalogue, costs, places.specs, rung);
  const Segment& last = rung.segments.back();
  made.theta = last.place == Place::gpu ? last.first : static_cast<int>(network.nodes.size());
  made.plan.key = {network.name,
                   describe(network),
                   device_name(places.specs.cpu, &places.specs.gpu),
                   places.specs.cpu.threads,
                   options.memory_limit,
                   std::string(to_string(strategy)),
                   catalogue.fingerprint()};
  const Geometry geometry = make_geometry(network, rung.geometry).value();
  made.plan.predicted = {best->voxels_per_second, best->seconds, border_cost(network, geometry), cost.basis,
                         cost.error};
  made.plan.memory = rung.memory;
  made.plan.ladder = {std::move(rung)};
  if (options.ladder) add_spare(network, catalogue, costs, places.specs.cpu, options, made.plan);
  return made;
}

std::string split_summary(const SplitPlan& plan) {
  std::string text = summary(plan.plan) + "places     ";
  const Rung& rung = plan.plan.ladder.front();
  for (const Segment& segment : rung.segments) {
    if (segment.first > 0) text += ", then ";
    text += "nodes " + std::to_string(segment.first) + " to " + std::to_string(segment.last) + " on " +
            std::string(to_string(segment.place));
    if (segment.group.inputs > 0) text += " in groups of " + std::to_string(segment.group.inputs);
  }
  return text + "\ntogether   CPU " + seconds_text(plan.seconds.cpu) + ", GPU " + seconds_text(plan.seconds.gpu) +
         " a patch; " + to_string(plan.bytes) + "\nfallback   " +
         (plan.plan.ladder.size() > 1 ? std::to_string(plan.plan.ladder.size() - 1) + " rungs on the CPU"
                                      : "none: no memory is left for rungs on the CPU") +
         "\n";
}

}  // namespace znni
