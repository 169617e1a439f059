#include "planner/search/search_session.hpp"

#include <algorithm>
#include <utility>

#include "planner/base/text_table.hpp"
#include "planner/geometry/streams.hpp"
#include "planner/network/tile_bound.hpp"
#include "planner/search/candidates.hpp"
#include "planner/search/pin_check.hpp"
#include "planner/search/rung_plan.hpp"
#include "planner/search/search_log.hpp"
#include "planner/search/smaller_rungs.hpp"

namespace znni {
namespace {

constexpr int max_looks = 8;
// What a first rung may leave to each of the smaller ones, as a share of the memory limit, and what all of them may
// cost of its rate.
constexpr std::int64_t rungs_per_limit = 64;
constexpr double worth_of_rungs = 0.02;

Result<std::vector<const Primitive*>> resolve_force(const Network& network, const Catalogue& catalogue,
                                                    const std::map<std::string, std::string>& force) {
  std::vector<const Primitive*> forced(network.nodes.size(), nullptr);
  for (const auto& [node, name] : force) {
    const std::string what = "force " + node + "=" + name;
    const std::optional<std::size_t> index = find_node(network, node);
    if (!index) {
      const std::string count = std::to_string(network.nodes.size());
      return Error{ErrorCode::invalid_argument,
                   what + ": no node '" + node + "' among the " + count + " nodes of " + network.name};
    }
    forced[*index] = catalogue.find(name);
    if (forced[*index] == nullptr) {
      return Error{ErrorCode::invalid_argument, what + ": no primitive of that name takes part"};
    }
  }
  return forced;
}

}  // namespace

SearchSession::SearchSession(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue,
                             CostSource& costs, SearchOptions options)
    : network_(network),
      spec_(spec),
      catalogue_(catalogue.within(options.precision)),
      costs_(costs),
      options_(std::move(options)) {
  if (const auto volume = volume_of_window(network, options_.volume)) options_.volume = *volume;
}

Result<Plan> SearchSession::within(std::int64_t memory_limit, SearchLog* log) {
  Result<Plan> plan = first_within(memory_limit, log);
  if (plan) add_others(*plan, log);
  return plan;
}

Result<Plan> SearchSession::first_within(std::int64_t memory_limit, SearchLog* log) {
  options_.memory_limit = memory_limit;
  if (Result<void> ready = make_ready(); !ready) return ready.error();
  geometries_->begin();
  const std::int64_t cut_before = geometries_->cut();
  const std::optional<FoundRung> first = first_rung(log == nullptr ? nullptr : &log->candidates);
  if (!first) return refuse();
  Plan plan = rung_plan(network_, spec_, catalogue_, options_, *first);
  if (log != nullptr) log->cut = geometries_->cut() - cut_before;
  if (log != nullptr) log_choices(network_, *first, spec_, catalogue_, costs_, *log);
  return plan;
}

// Lists the candidates, which do not depend on the limit (planner/search/candidates.hpp).
Result<void> SearchSession::make_ready() {
  if (Result<void> sound = check_options(network_, options_); !sound) return sound;
  if (geometries_ == nullptr) {
    Result<std::vector<const Primitive*>> forced = resolve_force(network_, catalogue_, options_.force);
    if (!forced) return forced.error();
    candidates_ = make_candidates(network_, options_);
    geometries_ = std::make_unique<GeometrySearch>(network_, spec_, catalogue_, costs_, options_, *std::move(forced));
  }
  if (candidates_.empty() && !geometries_->stopped()) return no_candidate(network_, options_);
  return {};
}

RungQuery SearchSession::query_of_first() const {
  RungQuery query;
  query.total = options_.memory_limit - weight_bytes(network_);
  query.volume = options_.volume;
  return query;
}

// Returns the best candidate. A plan found within less memory fits, so no slower one can win, except that a log shows
// some that are slower, and that packing may have had better luck with less memory.
std::optional<FoundRung> SearchSession::best_candidate(RungQuery query, std::vector<Candidate>* log) {
  const auto above = reached_.upper_bound(options_.memory_limit);
  query.floor = log != nullptr || above == reached_.begin() ? 0 : std::prev(above)->second;
  std::optional<FoundRung> best = geometries_->best(candidates_, query, log);
  if (best || query.floor == 0 || geometries_->stopped()) return best;
  query.floor = 0;
  return geometries_->best(candidates_, query, log);
}

std::optional<FoundRung> SearchSession::first_rung(std::vector<Candidate>* log) {
  const RungQuery query = query_of_first();
  if (query.total <= 0) return std::nullopt;
  std::optional<FoundRung> first = best_candidate(query, log);
  if (!first || geometries_->stopped()) return first;
  reached_[options_.memory_limit] = first->voxels_per_second;
  return look_around(*std::move(first), query, log);
}

// Looks around a patch again and again, as long as it finds a faster one there: each look goes a few extents far.
std::optional<FoundRung> SearchSession::look_around(FoundRung first, const RungQuery& query,
                                                    std::vector<Candidate>* log) {
  std::optional<FoundRung> found = std::move(first);
  for (int look = 0; look < max_looks && !geometries_->stopped(); ++look) {
    const GeometryChoice centre = found->rung.geometry;
    const std::vector<GeometryChoice> near = make_neighbours(network_, options_, centre);
    found = geometries_->best(near, query, log, std::move(found));
    if (centre.streamed || found->rung.geometry == centre) break;
  }
  return found;
}

void SearchSession::add_others(Plan& plan, SearchLog* log) {
  const bool has_others = options_.ladder && !is_tile_bound(network_);  // a window has one patch
  if (!has_others || geometries_->stopped()) return;
  add_smaller(plan, saturated);
  if (std::optional<Plan> roomy = with_room(plan, log)) plan = *std::move(roomy);
}

// Returns a plan with the rungs that were left out; nothing if there were none, or they cost too much. Small volumes
// would run in patches many times as large.
std::optional<Plan> SearchSession::with_room(const Plan& plan, SearchLog* log) {
  const std::int64_t limit = options_.memory_limit;
  const std::int64_t room = left_out_;
  if (room == 0 || options_.volume) return std::nullopt;
  SearchLog own;
  Result<Plan> roomy = first_within(limit - room, log == nullptr ? nullptr : &own);
  options_.memory_limit = limit;
  const double least = (1 - worth_of_rungs) * plan.predicted.voxels_per_second;
  if (!roomy || geometries_->stopped() || roomy->predicted.voxels_per_second < least) return std::nullopt;
  roomy->key.memory_limit = limit;
  add_smaller(*roomy, limit / rungs_per_limit);
  if (roomy->ladder.size() <= plan.ladder.size()) return std::nullopt;
  if (log != nullptr) *log = std::move(own);
  return *std::move(roomy);
}

// Adds what stands behind the first rung. Each rung of the ladder keeps no more persistent bytes than that.
void SearchSession::add_smaller(Plan& plan, std::int64_t max_persistent) {
  const Result<Geometry> first = make_geometry(network_, plan.ladder.front().geometry);
  ensure(first.has_value(), "a plan's own rung is legal");
  geometries_->turn_to_smaller();
  const std::vector<GeometryChoice> others = candidates_of_smaller_rungs();
  add_open_rung(plan, others);
  const std::optional<Vec3> prompt = add_prompt_stream(plan, others);
  add_ladder(plan, prompt.value_or(measure_of(*first)), max_persistent, others);
}

std::vector<GeometryChoice> SearchSession::candidates_of_smaller_rungs() const {
  SearchOptions own = options_;
  own.pins = of_smaller_rungs(options_.pins);
  return own.pins == options_.pins ? candidates_ : make_candidates(network_, own);
}

// Adds, behind a first rung that takes volumes up to its own alone, the fastest that takes any, if memory is left.
void SearchSession::add_open_rung(Plan& plan, std::vector<GeometryChoice> candidates) {
  if (plan.ladder.front().geometry.closed == Vec3{} || geometries_->stopped()) return;
  std::erase_if(candidates, [](const GeometryChoice& choice) { return choice.closed != Vec3{}; });
  RungQuery query;
  query.total = options_.memory_limit - plan.memory.weights - plan.memory.persistent;
  query.persistent = options_.memory_limit - plan.memory.total();
  if (std::optional<FoundRung> rung = geometries_->best(candidates, query)) append(plan, std::move(rung->rung));
}

// Adds patches of about a half, a quarter and an eighth of the first per axis, and the smallest there is. Each is as
// fast as the arena of the first and what memory is left allow. A rung that does not fit is left out: smaller volumes
// then run in a larger patch. None is streamed: a small volume ends before a stream has begun to pay.
void SearchSession::add_ladder(Plan& plan, Vec3 first_output, std::int64_t max_persistent,
                               std::vector<GeometryChoice> candidates) {
  std::erase_if(candidates, [](const GeometryChoice& choice) { return choice.S != 1 || choice.streamed; });
  left_out_ = 0;
  last_left_out_.reset();
  if (candidates.empty()) return;
  add_smaller_rungs(network_, first_output, geometries_->smallest_output(candidates),
                    [&](Vec3 largest) -> std::optional<Vec3> {
                      RungQuery query;
                      query.persistent = std::min(max_persistent, options_.memory_limit - plan.memory.total());
                      query.transient = plan.memory.transient;
                      query.largest_output = largest;
                      std::optional<FoundRung> rung = geometries_->best(candidates, query);
                      if (!rung) return leave_out(plan, candidates, query);
                      if (rung->rung.geometry == plan.ladder.back().geometry) return std::nullopt;
                      append(plan, std::move(rung->rung));
                      return rung->geometry.patch_output;
                    });
}

// Counts the persistent bytes of the rung that would be there if they had room, if they are few enough for a first rung
// to leave. Returns what it writes.
std::optional<Vec3> SearchSession::leave_out(const Plan& plan, const std::vector<GeometryChoice>& candidates,
                                             RungQuery query) {
  query.persistent = options_.memory_limit / rungs_per_limit;
  const std::optional<FoundRung> rung = geometries_->best(candidates, query);
  if (!rung) return std::nullopt;
  const GeometryChoice& found = rung->rung.geometry;
  if (found == plan.ladder.back().geometry || found == last_left_out_) return std::nullopt;
  last_left_out_ = found;
  left_out_ = add(left_out_, rung->rung.memory.persistent);
  return rung->geometry.patch_output;
}

// Adds, beside a stream whose columns run in several phases, the best stream with one phase, in the same arena: it
// delivers as it goes, while the output of the other waits for the last phase. Returns what smaller rungs are then
// measured by: its cross-section is about as large as memory lets patches be.
std::optional<Vec3> SearchSession::add_prompt_stream(Plan& plan, std::vector<GeometryChoice> candidates) {
  const GeometryChoice& first = plan.ladder.front().geometry;
  if (!first.streamed || has_one_phase(first.modes) || geometries_->stopped()) return std::nullopt;
  std::erase_if(candidates, [](const auto& choice) { return !choice.streamed || !has_one_phase(choice.modes); });
  RungQuery query;
  query.persistent = options_.memory_limit - plan.memory.total();
  query.transient = plan.memory.transient;
  query.volume = options_.volume;
  std::optional<FoundRung> rung = geometries_->best(candidates, query);
  if (!rung) return std::nullopt;
  const std::vector<GeometryChoice> near = make_neighbours(network_, options_, rung->rung.geometry);
  rung = geometries_->best(near, query, nullptr, std::move(rung));
  append(plan, rung->rung);
  return measure_of(rung->geometry);
}

Error SearchSession::refuse() {
  Error stopped_early{ErrorCode::cancelled, "the search was stopped before it found a plan"};
  if (geometries_->stopped()) return stopped_early;
  const std::optional<std::int64_t> least = geometries_->min_bytes(candidates_);
  if (geometries_->stopped()) return stopped_early;
  if (!least) {
    return {ErrorCode::unsupported, "no patch of " + network_.name + with_pins(options_.pins) +
                                        " can be computed: " + geometries_->last_refusal()};
  }
  const std::int64_t needed = add(*least, weight_bytes(network_));
  return {ErrorCode::over_budget, "no plan for " + network_.name + with_pins(options_.pins) + " fits into " +
                                      bytes_text(options_.memory_limit) + ": the smallest budget that would do is " +
                                      std::to_string(needed) + " bytes (" + bytes_text(needed) + ")"};
}

}  // namespace znni
