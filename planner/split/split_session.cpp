#include "planner/split/split_session.hpp"

#include <algorithm>
#include <utility>

#include "planner/layers/prediction.hpp"
#include "planner/plan/throughput.hpp"
#include "planner/search/candidates.hpp"
#include "planner/search/pin_check.hpp"
#include "planner/search/smaller_rungs.hpp"
#include "planner/split/split_pins.hpp"

namespace znni {
namespace {

// Lowers a floor a little, so that a candidate that is as fast as what was found within less memory is not cut off.
constexpr double nearly = 1 - 1e-9;

bool on_several_places(const GeometryChoice& choice) {
  return choice.stem_slab == 0 &&
         std::none_of(choice.modes.begin(), choice.modes.end(), [](const PoolingMode& mode) { return mode.holds(); });
}

// Takes the borders of the volume from patches that span it: a GPU sets what is outside instead.
std::vector<GeometryChoice> opened(std::vector<GeometryChoice> choices) {
  for (GeometryChoice& choice : choices) choice.closed = {};
  return choices;
}

std::vector<GeometryChoice> split_candidates(const Network& network, SearchOptions options) {
  options.stem_slab = 0;
  std::vector<GeometryChoice> candidates = opened(make_candidates(network, options));
  const bool is_cut = is_dense(network);
  std::erase_if(candidates, [&](const GeometryChoice& choice) {
    return !on_several_places(choice) || (!is_cut && choice.streamed);
  });
  return candidates;
}

// Returns the choices beside `choice`. One that spans the volume is beside itself, closed.
std::vector<GeometryChoice> split_neighbours(const Network& network, const SearchOptions& options,
                                             const GeometryChoice& choice) {
  std::vector<GeometryChoice> near = opened(make_neighbours(network, options, choice));
  std::erase(near, choice);
  return near;
}

// Returns the cost of the rung's steps, each as often as it runs.
Cost cost_of(const WeighedRung& found) {
  return cost_of_steps(found.choice.rung, [&](const Segment& segment, const Step&) {
    const std::int64_t S = found.geometry.values[static_cast<std::size_t>(segment.first)].S;
    return static_cast<double>(segment.micro_batch.inputs == 0 ? 1 : S / segment.micro_batch.inputs);
  });
}

void append_split(WeighedRung found, SplitPlan& plan) {
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
    std::optional<WeighedRung> found = search.best_whole(fitting, {rest_of(budget, plan.bytes), {}});
    if (!found || found->choice.rung.geometry == plan.plan.ladder.back().geometry) return std::nullopt;
    const Vec3 written = found->geometry.patch_output;
    append_split(*std::move(found), plan);
    return written;
  });
}

// Returns candidates of smaller rungs. `candidates` are those of the first rung.
std::vector<GeometryChoice> candidates_of_smaller_rungs(const Network& network, const SearchOptions& options,
                                                        const std::vector<GeometryChoice>& candidates) {
  SearchOptions own = options;
  own.pins = of_smaller_rungs(options.pins);
  return own.pins == options.pins ? candidates : split_candidates(network, own);
}

// Returns the options for rungs of the CPU: each layer as a whole, because a search of all that a CPU can do would take
// longer than that of the plan itself.
SearchOptions options_of_fallback(SearchOptions options) {
  options.strategy = Strategy::layerwise;
  options.pins = {};
  return options;
}

}  // namespace

Result<void> check_places(const Network& network, SplitStrategy strategy) {
  if (Result<void> taken = check_gpu_takes(network); !taken) return taken;
  if (is_dense(network) || strategy == SplitStrategy::gpu) return {};
  return Error{ErrorCode::unsupported,
               "a network that pads or upsamples runs on one place: use --strategy cpu or --strategy gpu"};
}

SpaceBytes split_budget(const SpaceBytes& machine, std::int64_t limit, std::int64_t weights) {
  const std::int64_t host = std::max<std::int64_t>(0, (limit - weights) / 8 * 7);
  return {host, machine.pinned > 0 ? std::min(machine.pinned, host) : host, machine.device};
}

SplitSession::SplitSession(const Network& network, const Catalogue& catalogue, CostSource& costs,
                           const PlaceSpecs& specs, SplitStrategy strategy, SearchOptions options)
    : network_(network),
      catalogue_(catalogue),
      costs_(costs),
      specs_(specs),
      strategy_(strategy),
      options_(std::move(options)),
      fallback_(network, specs_.cpu, catalogue, costs, options_of_fallback(options_)) {}

Result<SplitPlan> SplitSession::within(std::int64_t memory_limit, const SpaceBytes& memory, SearchLog* log) {
  Result<SplitPlan> made = first_within(memory_limit, memory, log);
  if (!made || !options_.ladder) return made;
  const Vec3 output = measure_of(reached_.back().found.geometry);
  add_smaller(network_, candidates_of_smaller_rungs(network_, options_, candidates_), reached_.back().budget, output,
              *patches_, *made);
  const Result<void> fallback = add_fallback(made->plan);
  made->no_fallback = fallback ? "" : fallback.error().message;
  return made;
}

// Adds rungs of the CPU within a quarter of the limit: for a GPU that fails, and for volumes that they suit better.
// Adds none where no memory is left for them.
Result<void> SplitSession::add_fallback(Plan& plan) {
  const std::int64_t room = options_.memory_limit - plan.memory.total();
  const Result<Plan>& fallback = fallback_within(add(plan.memory.weights, std::min(room, options_.memory_limit / 4)));
  if (!fallback) return fallback.error();
  plan.ladder.insert(plan.ladder.end(), fallback->ladder.begin(), fallback->ladder.end());
  plan.memory.persistent = add(plan.memory.persistent, fallback->memory.persistent);
  plan.memory.transient = add(plan.memory.transient, fallback->memory.transient);
  return {};
}

// Returns the rungs of the CPU within a limit, which it searches once. Those of several GPUs' memories are the same.
const Result<Plan>& SplitSession::fallback_within(std::int64_t memory_limit) {
  const auto known = fallbacks_.find(memory_limit);
  if (known != fallbacks_.end()) return known->second;
  return fallbacks_.emplace(memory_limit, fallback_.within(memory_limit)).first->second;
}

Result<SplitPlan> SplitSession::first_within(std::int64_t memory_limit, const SpaceBytes& memory, SearchLog* log) {
  options_.memory_limit = memory_limit;
  if (Result<void> ready = make_ready(); !ready) return ready.error();
  patches_->begin();
  const PatchQuery query{split_budget(memory, memory_limit, weight_bytes(network_)), options_.volume};
  std::optional<WeighedRung> best = first_rung(query, log);
  if (!best) {
    const Error stopped{ErrorCode::cancelled, "the search was stopped before it found one"};
    return (patches_->stopped() ? stopped : patches_->reason())
        .within("no plan for strategy " + std::string(to_string(strategy_)) + with_pins(options_.pins));
  }
  return plan_of(*std::move(best));
}

// Checks what was asked for, and makes the candidates at the first call: they do not depend on the limits
// (planner/search/candidates.hpp).
Result<void> SplitSession::make_ready() {
  if (Result<void> placed = check_places(network_, strategy_); !placed) return placed;
  if (Result<void> sound = check_options(network_, options_); !sound) return sound;
  if (Result<void> modes = check_split_modes(options_.pins); !modes) return modes;
  if (patches_ == nullptr) {
    const Result<CutLimits> cuts = pinned_cuts(network_, strategy_, options_.pins);
    if (!cuts) return cuts.error();
    candidates_ = split_candidates(network_, options_);
    patches_ = std::make_unique<PatchSearch>(network_, catalogue_, costs_, specs_, *cuts, options_);
  }
  if (candidates_.empty() && !patches_->stopped()) return no_candidate(network_, options_);
  return {};
}

// Returns the best rung, which stands last in reached_.
std::optional<WeighedRung> SplitSession::first_rung(const PatchQuery& query, SearchLog* log) {
  const auto known =
      std::find_if(reached_.begin(), reached_.end(), [&](const Reached& each) { return each.budget == query.budget; });
  if (known != reached_.end() && log == nullptr) {
    std::rotate(known, std::next(known), reached_.end());
    return reached_.back().found;
  }
  std::optional<WeighedRung> best = best_candidate(query, log);
  if (!best) return best;
  const double of_candidates = best->voxels_per_second;
  const std::vector<GeometryChoice> near = split_neighbours(network_, options_, best->geometry.choice);
  best = patches_->best(near, query, log, std::move(best));
  reached_.push_back({query.budget, of_candidates, *best});
  return best;
}

// Returns the best candidate. What was found within less memory fits, so no slower one can win, except that a log shows
// some that are slower.
std::optional<WeighedRung> SplitSession::best_candidate(PatchQuery query, SearchLog* log) {
  for (const Reached& each : reached_) {
    if (log == nullptr && query.budget.covers(each.budget)) {
      query.floor = std::max(query.floor, nearly * each.of_candidates);
    }
  }
  std::optional<WeighedRung> best = patches_->best(candidates_, query, log);
  if (best || query.floor == 0) return best;
  if (patches_->stopped()) return best_reached(query.budget);
  query.floor = 0;
  return patches_->best(candidates_, query, log);
}

// Returns the fastest rung found so far that fits into the budget.
std::optional<WeighedRung> SplitSession::best_reached(const SpaceBytes& budget) const {
  std::optional<WeighedRung> best;
  for (const Reached& each : reached_) {
    const bool is_faster = !best || each.found.voxels_per_second > best->voxels_per_second;
    if (is_faster && budget.covers(each.budget)) best = each.found;
  }
  return best;
}

SplitPlan SplitSession::plan_of(WeighedRung best) const {
  const Cost cost = cost_of(best);
  const Segment& last = best.choice.rung.segments.back();
  SplitPlan made;
  made.seconds = best.choice.seconds;
  made.theta = last.place == Place::gpu ? last.first : static_cast<int>(network_.nodes.size());
  made.plan.key = {network_.name,
                   describe(network_),
                   device_name(specs_.cpu, &specs_.gpu),
                   specs_.cpu.threads,
                   options_.memory_limit,
                   std::string(to_string(strategy_)),
                   catalogue_.fingerprint(),
                   options_.precision,
                   to_string(options_.pins),
                   options_.volume};
  made.plan.predicted = {best.voxels_per_second, made.seconds.patch(), border_cost(network_, best.geometry), cost.basis,
                         cost.error};
  if (options_.volume)
    made.plan.predicted.endless_voxels_per_second = endless_rate(best.geometry, best.choice.rung.seconds);
  made.plan.memory.weights = weight_bytes(network_);
  append_split(std::move(best), made);
  made.no_fallback = "smaller rungs were not asked for";
  return made;
}

}  // namespace znni
