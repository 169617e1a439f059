#include "planner/split/split_plan.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

#include "planner/base/text_table.hpp"
#include "planner/base/thinned.hpp"
#include "planner/geometry/cube.hpp"
#include "planner/geometry/geometry_family.hpp"
#include "planner/layers/prediction.hpp"
#include "planner/plan/summary.hpp"
#include "planner/plan/throughput.hpp"
#include "planner/search/candidates.hpp"
#include "planner/search/pin_check.hpp"
#include "planner/search/smaller_rungs.hpp"
#include "planner/split/split_pins.hpp"

namespace znni {
namespace {

// Returns the budget of a plan: an eighth of the `limit` bytes of host RAM, beside the weights, is left for rungs of
// the CPU.
SpaceBytes budget_of(const SpaceBytes& machine, std::int64_t limit, std::int64_t weights) {
  const std::int64_t host = std::max<std::int64_t>(0, (limit - weights) / 8 * 7);
  return {host, machine.pinned > 0 ? std::min(machine.pinned, host) : host, machine.device};
}

// Edges of up to `most` legal cubes.
std::vector<std::int64_t> cubes(const Network& network, const std::vector<PoolingMode>& modes,
                                const SearchOptions& options, std::size_t most) {
  std::vector<std::int64_t> edges = legal_extents(network, modes, 2, options.most_extent);
  for (int axis = 3 - network.spatial_rank; axis < 2; ++axis) {
    const std::vector<std::int64_t> along = legal_extents(network, modes, axis, options.most_extent);
    std::erase_if(edges, [&](std::int64_t edge) { return !std::binary_search(along.begin(), along.end(), edge); });
  }
  return thinned(edges, most);
}

bool on_several_places(const GeometryChoice& choice) {
  return choice.head_slab == 0 &&
         std::none_of(choice.modes.begin(), choice.modes.end(), [](const PoolingMode& mode) { return mode.holds(); });
}

std::vector<GeometryChoice> split_candidates(const Network& network, SearchOptions options) {
  options.head_slab = 0;
  std::vector<GeometryChoice> candidates = make_candidates(network, options);
  std::erase_if(candidates, [](const GeometryChoice& choice) { return !on_several_places(choice); });
  return candidates;
}

// Layers through host RAM take long to look at: of many candidates few are looked at with them, S of 1, squares across
// a stream of 2, 4, 8, ... strides of new planes, and cubes, each kind spread over its sizes; none with a plain
// pooling. A pinned S and pinned modes are looked at as those are; where
// theta is pinned there are fewer cuts, and so more candidates are looked at.
constexpr std::size_t all_with_host_ram = 256;
constexpr std::size_t all_of_pinned_theta = 1024;
constexpr std::size_t sizes_with_host_ram = 12;
constexpr std::size_t sizes_of_pinned_theta = 48;

// `stride`: of all poolings together. A patch of one plane may be a square.
bool suits_host_ram(const GeometryChoice& choice, Vec3 stride, int rank, const Pins& pins) {
  const bool fragments =
      !pins.modes.empty() || std::all_of(choice.modes.begin(), choice.modes.end(),
                                         [](const PoolingMode& mode) { return mode.mode == PoolMode::fragments; });
  const Vec3 n = choice.pass_input;
  const std::int64_t strides = n.z / stride[choice.axis];
  const bool step = n.y == n.x && strides > 1 && (strides & (strides - 1)) == 0;
  return fragments && choice.S == pins.S.value_or(1) && (choice.streamed ? step : is_cube(n, rank) || is_cube(n, 2));
}

std::vector<GeometryChoice> few_of(const std::vector<GeometryChoice>& candidates, Vec3 stride, int rank,
                                   const Pins& pins) {
  const bool pinned = !pins.theta.empty();
  if (candidates.size() <= (pinned ? all_of_pinned_theta : all_with_host_ram)) return candidates;
  std::map<std::tuple<std::vector<PoolingMode>, int, std::int64_t>, std::vector<GeometryChoice>> kinds;
  for (const GeometryChoice& choice : candidates) {
    if (!suits_host_ram(choice, stride, rank, pins)) continue;
    kinds[{choice.modes, choice.axis, choice.streamed ? choice.pass_input.z : 0}].push_back(choice);
  }
  std::vector<GeometryChoice> few;
  for (const auto& [kind, sizes] : kinds) {
    const std::size_t count = std::min(sizes.size(), pinned ? sizes_of_pinned_theta : sizes_with_host_ram);
    for (std::size_t i = 0; i < count; ++i) {
      few.push_back(sizes[count > 1 ? i * (sizes.size() - 1) / (count - 1) : 0]);
    }
  }
  return few;
}

// A rung with what it is predicted to give.
struct Weighed {
  SplitChoice choice;
  Geometry geometry;
  double voxels_per_second = 0;
};

// Limits that patches must keep.
struct PatchQuery {
  SpaceBytes budget;
  std::optional<Vec3> volume;
};

// Ways with products in fewer bits are not taken: primitives, of which some must ask a library for each, need not
// describe them.
PlaceSpecs as_fine_as(Precision coarsest, PlaceSpecs specs) {
  if (coarsest < Precision::tf32) specs.gpu.accelerator.tf32_flops_per_second = 0;
  if (coarsest < Precision::bf16) specs.gpu.accelerator.bf16_flops_per_second = 0;
  return specs;
}

class PatchSearch {
 public:
  PatchSearch(const Network& network, const Catalogue& catalogue, CostSource& costs, const PlaceSpecs& specs,
              const CutLimits& limits, const SearchOptions& options)
      : network_(network),
        options_(options),
        fov_(reaches(network).back().fov),
        stride_(reaches(network).back().stride),
        specs_(as_fine_as(options.precision, specs)),
        simple_(network, catalogue, costs, specs_, {limits.head, false, limits.until}, options.precision,
                options.stop) {
    if (!limits.host_ram) return;
    divided_.emplace(network, catalogue, costs, specs_, limits, options.precision, options.stop);
  }

  // The candidate with the most voxels per second, or `found` where none has more; of equals the first, without layers
  // through host RAM before those with them: most of these are out at once when something fast is known.
  std::optional<Weighed> best(const std::vector<GeometryChoice>& candidates, const PatchQuery& query,
                              SearchLog* log = nullptr, std::optional<Weighed> found = std::nullopt) {
    found = best_whole(candidates, query, log, std::move(found));
    if (!divided_) return found;
    return best_of(*divided_, few_of(candidates, stride_, network_.spatial_rank, options_.pins), query, log,
                   std::move(found));
  }

  // Returns the best candidate without layers through host RAM.
  std::optional<Weighed> best_whole(const std::vector<GeometryChoice>& candidates, const PatchQuery& query,
                                    SearchLog* log = nullptr, std::optional<Weighed> found = std::nullopt) {
    return best_of(simple_, candidates, query, log, std::move(found));
  }

  const Result<GeometryFamily>& family_of(const GeometryChoice& choice) {
    const auto found = families_.find(choice);
    return found != families_.end() ? found->second
                                    : families_.emplace(choice, GeometryFamily::make(network_, choice)).first->second;
  }

  // Why the last patch that does not fit, or cannot be computed, does not.
  [[nodiscard]] const Error& reason() const { return reason_; }
  [[nodiscard]] bool stopped() const { return options_.stop && options_.stop(); }

 private:
  std::optional<Weighed> best_of(SplitSearch& search, const std::vector<GeometryChoice>& candidates,
                                 const PatchQuery& query, SearchLog* log, std::optional<Weighed> best) {
    for (const GeometryChoice& choice : candidates) {
      if (stopped()) break;
      const double record = best ? best->voxels_per_second : 0;
      Result<Weighed> found = look(search, choice, query, log != nullptr ? options_.logged_share * record : record);
      if (log != nullptr) tell(choice, found, &search != &simple_, *log);
      if (found && found->voxels_per_second > record) best = std::move(*found);
    }
    return best;
  }

  Result<Weighed> look(SplitSearch& search, const GeometryChoice& choice, const PatchQuery& query, double to_beat) {
    const Result<GeometryFamily>& family = family_of(choice);
    Result<Geometry> geometry = family ? family->with_passes(choice.pass_input) : family.error();
    if (!geometry) return geometry.error();
    const double useful = useful_voxels(*geometry, fov_, query.volume);
    const Seconds below = to_beat > 0 ? useful / to_beat : std::numeric_limits<double>::infinity();
    Result<SplitChoice> found = search.best(*geometry, query.budget, below);
    if (!found) {
      reason_ = found.error();
      return found.error();
    }
    const double voxels_per_second = useful / found->rung.seconds;
    return Weighed{*std::move(found), *std::move(geometry), voxels_per_second};
  }

  // A patch stands in the log once, as the better of what was found without layers through host RAM and with them.
  // `again`: it may be there.
  void tell(const GeometryChoice& choice, const Result<Weighed>& found, bool again, SearchLog& log) const {
    const Candidate told = found ? candidate(choice, *found) : Candidate{choice, 0, {}, found.error().message};
    const auto first = again ? log.candidates.begin() : log.candidates.end();
    const auto same =
        std::find_if(first, log.candidates.end(), [&](const Candidate& other) { return other.choice == choice; });
    if (same == log.candidates.end()) {
      log.candidates.push_back(told);
    } else if (told.voxels_per_second > same->voxels_per_second) {
      *same = told;
    }
  }

  [[nodiscard]] Candidate candidate(const GeometryChoice& choice, const Weighed& found) const {
    const SpaceBytes& bytes = found.choice.bytes;
    return {choice, found.voxels_per_second, {weight_bytes(network_), 0, add(bytes.host, bytes.pinned)}, ""};
  }

  const Network& network_;
  const SearchOptions& options_;
  Vec3 fov_;
  Vec3 stride_;
  std::map<GeometryChoice, Result<GeometryFamily>, FamilyOrder> families_;
  const PlaceSpecs specs_;
  SplitSearch simple_;                  // without layers through host RAM
  std::optional<SplitSearch> divided_;  // with them, where the strategy has any
  Error reason_{ErrorCode::unsupported, "no legal patch"};
};

// Returns the cost of the rung's steps, each as often as it runs.
Cost cost_of(const Weighed& found) {
  return cost_of_steps(found.choice.rung, [&](const Segment& segment, const Step&) {
    const std::int64_t S = found.geometry.values[static_cast<std::size_t>(segment.first)].S;
    return static_cast<double>(segment.group.inputs == 0 ? 1 : S / segment.group.inputs);
  });
}

void append_split(Weighed found, SplitPlan& plan) {
  const SpaceBytes& bytes = found.choice.bytes;
  Rung rung = std::move(found.choice.rung);
  rung.memory = {plan.plan.memory.weights, 0, add(bytes.host, bytes.pinned)};
  plan.plan.memory.transient = add(plan.plan.memory.transient, rung.memory.transient);
  plan.plan.ladder.push_back(std::move(rung));
  plan.bytes = plan.bytes.plus(bytes);
}

SpaceBytes rest_of(const SpaceBytes& budget, const SpaceBytes& taken) {
  return {budget.host - taken.host - taken.pinned, budget.pinned - taken.pinned, budget.device - taken.device};
}

// Adds patches of about a half, a quarter and an eighth of the first per axis, and the smallest, in what memory is
// left. Adds no streams: a small volume ends before a stream has begun to pay.
void add_smaller(const Network& network, const std::vector<GeometryChoice>& candidates, const SpaceBytes& budget,
                 Vec3 largest, PatchSearch& search, SplitPlan& plan) {
  std::vector<std::pair<Vec3, GeometryChoice>> single;  // with what they write
  Vec3 smallest = largest;
  for (const GeometryChoice& choice : candidates) {
    if (choice.S != 1 || choice.streamed) continue;
    const Vec3 output = search.family_of(choice)->patch_output(choice.pass_input);
    if (!covers(largest, output)) continue;
    single.emplace_back(output, choice);
    if (voxels(output) < voxels(smallest)) smallest = output;
  }
  add_smaller_rungs(network, largest, smallest, [&](Vec3 most) -> std::optional<Vec3> {
    std::erase_if(single, [&](const auto& each) { return !covers(most, each.first); });
    std::vector<GeometryChoice> fitting;
    for (const auto& [output, choice] : single) fitting.push_back(choice);
    std::optional<Weighed> found = search.best_whole(fitting, {rest_of(budget, plan.bytes), {}});
    if (!found || found->choice.rung.geometry == plan.plan.ladder.back().geometry) return std::nullopt;
    const Vec3 written = found->geometry.patch_output;
    append_split(*std::move(found), plan);
    return written;
  });
}

// `candidates` are those of the first rung.
std::vector<GeometryChoice> candidates_of_smaller_rungs(const Network& network, const SearchOptions& options,
                                                        const std::vector<GeometryChoice>& candidates) {
  SearchOptions own = options;
  own.pins = of_smaller_rungs(options.pins);
  return own.pins == options.pins ? candidates : split_candidates(network, own);
}

// Rungs of the CPU within a quarter of the limit: for a GPU that fails, and for volumes that they suit better. None
// where no memory is left for them. Each layer as a whole: a search of all that a CPU can do would take longer than
// that of the plan itself.
Result<void> add_spare(const Network& network, const Catalogue& catalogue, CostSource& costs, const DeviceSpec& cpu,
                       const SearchOptions& options, Plan& plan) {
  SearchOptions own = options;
  own.strategy = Strategy::layerwise;
  own.pins = {};
  const std::int64_t room = options.memory_limit - plan.memory.total();
  own.memory_limit = add(plan.memory.weights, std::min(room, options.memory_limit / 4));
  Result<Plan> spare = search(network, cpu, catalogue, costs, own);
  if (!spare) return spare.error();
  plan.ladder.insert(plan.ladder.end(), spare->ladder.begin(), spare->ladder.end());
  plan.memory.persistent = add(plan.memory.persistent, spare->memory.persistent);
  plan.memory.transient = add(plan.memory.transient, spare->memory.transient);
  return {};
}

}  // namespace

std::string_view to_string(SplitStrategy strategy) {
  static constexpr std::array<std::string_view, 3> names = {"gpu", "gpu-host-ram", "cpu-gpu"};
  return names[static_cast<std::size_t>(strategy)];
}

Result<SplitPlan> plan_split(const Network& network, const Catalogue& catalogue, CostSource& costs,
                             const MachinePlaces& places, SplitStrategy strategy, const SearchOptions& options,
                             SearchLog* log) {
  if (!is_dense(network)) {
    return Error{ErrorCode::unsupported,
                 "a network that pads, upsamples or is bound to its window runs on the CPU alone: use --strategy cpu"};
  }
  if (Result<void> sound = check_options(network, options); !sound) return sound.error();
  if (Result<void> modes = check_split_modes(options.pins); !modes) return modes.error();
  const std::int64_t weights = weight_bytes(network);
  const PatchQuery query{budget_of(places.memory, options.memory_limit, weights), options.volume};
  const Result<CutLimits> cuts = pinned_cuts(network, strategy, options.pins);
  if (!cuts) return cuts.error();
  const std::vector<GeometryChoice> candidates = split_candidates(network, options);
  if (candidates.empty() && !(options.stop && options.stop())) return no_candidate(network, options);
  PatchSearch search(network, catalogue, costs, places.specs, *cuts, options);
  std::optional<Weighed> best = search.best(candidates, query, log);
  if (best) {
    const std::vector<GeometryChoice> near = make_neighbours(network, options, best->geometry.choice);
    best = search.best(near, query, log, std::move(best));
  }
  if (!best) {
    const Error stopped{ErrorCode::cancelled, "the search was stopped before it found one"};
    return (search.stopped() ? stopped : search.reason())
        .within("no plan for strategy " + std::string(to_string(strategy)) + with_pins(options.pins));
  }
  const Cost cost = cost_of(*best);
  const Vec3 output = measure_of(best->geometry);
  const Segment& last = best->choice.rung.segments.back();
  SplitPlan made;
  made.seconds = best->choice.seconds;
  made.theta = last.place == Place::gpu ? last.first : static_cast<int>(network.nodes.size());
  made.plan.key = {network.name,
                   describe(network),
                   device_name(places.specs.cpu, &places.specs.gpu),
                   places.specs.cpu.threads,
                   options.memory_limit,
                   std::string(to_string(strategy)),
                   catalogue.fingerprint(),
                   options.precision,
                   to_string(options.pins),
                   options.volume};
  made.plan.predicted = {best->voxels_per_second, made.seconds.patch(), border_cost(network, best->geometry),
                         cost.basis, cost.error};
  if (options.volume)
    made.plan.predicted.endless_voxels_per_second = endless_rate(best->geometry, best->choice.rung.seconds);
  made.plan.memory.weights = weights;
  append_split(*std::move(best), made);
  made.no_spare = "smaller rungs were not asked for";
  if (!options.ladder) return made;
  add_smaller(network, candidates_of_smaller_rungs(network, options, candidates), query.budget, output, search, made);
  const Result<void> spare = add_spare(network, catalogue, costs, places.specs.cpu, options, made.plan);
  made.no_spare = spare ? "" : spare.error().message;
  return made;
}

std::vector<Candidate> split_cubes(const Network& network, const Catalogue& catalogue, CostSource& costs,
                                   const MachinePlaces& places, SplitStrategy strategy, const SearchOptions& options,
                                   std::size_t count) {
  if (!is_dense(network)) return {};
  const PatchQuery query{budget_of(places.memory, options.memory_limit, weight_bytes(network)), options.volume};
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
    if (segment.group.inputs > 0) text += " in groups of " + std::to_string(segment.group.inputs);
  }
  return text + "\ntogether   CPU " + seconds_text(plan.seconds.cpu) + ", GPU " + seconds_text(plan.seconds.gpu) +
         " a patch; " + to_string(plan.bytes) + "\nsmaller    " + std::to_string(with_gpu - 1) + " rungs with the GPU" +
         "\nfallback   " +
         (on_cpu_alone > 0 ? std::to_string(on_cpu_alone) + " rungs on the CPU" : "none: " + plan.no_spare) + "\n";
}

}  // namespace znni
