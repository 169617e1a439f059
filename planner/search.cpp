#include "planner/search.hpp"

#include <algorithm>
#include <array>

#include "planner/candidates.hpp"
#include "planner/geometry_search.hpp"
#include "planner/pin_check.hpp"
#include "planner/rung_plan.hpp"
#include "planner/search_log.hpp"
#include "planner/smaller_rungs.hpp"
#include "planner/streams.hpp"
#include "planner/text_table.hpp"

namespace znni {
namespace {

constexpr double most_combinations = 2'000'000;

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

// `candidates` are those of the first rung.
std::vector<GeometryChoice> candidates_of_smaller_rungs(const Network& network, const SearchOptions& options,
                                                        const std::vector<GeometryChoice>& candidates) {
  SearchOptions own = options;
  own.pins = of_smaller_rungs(options.pins);
  return own.pins == options.pins ? candidates : make_candidates(network, own);
}

// Patches of about a half, a quarter and an eighth of the first per axis, and the smallest there is, each as
// fast as the arena of the first and what memory is left allow. A rung that does not fit is left out: smaller
// volumes then run in a larger patch. None is streamed: a small volume ends before a stream has begun to pay.
void add_ladder(Plan& plan, GeometrySearch& geometries, const Network& network, Vec3 first_output,
                std::vector<GeometryChoice> candidates, std::int64_t memory_limit) {
  std::erase_if(candidates, [](const GeometryChoice& choice) { return choice.S != 1 || choice.streamed; });
  if (candidates.empty()) return;
  add_smaller_rungs(network, first_output, geometries.smallest_output(candidates),
                    [&](Vec3 largest) -> std::optional<Vec3> {
                      RungQuery query;
                      query.persistent = memory_limit - plan.memory.total();
                      query.transient = plan.memory.transient;
                      query.largest_output = largest;
                      std::optional<FoundRung> rung = geometries.best(candidates, query);
                      if (!rung || rung->rung.geometry == plan.ladder.back().geometry) return std::nullopt;
                      append(plan, std::move(rung->rung));
                      return rung->geometry.patch_output;
                    });
}

// Beside a stream whose columns run in several turns the best with one, in the same arena: it delivers as it goes,
// where the output of the other would wait for the last turn. What smaller rungs are then measured by: its
// cross-section is about as large as memory lets patches be.
std::optional<Vec3> add_prompt_stream(Plan& plan, GeometrySearch& geometries, const Network& network,
                                      std::vector<GeometryChoice> candidates, const SearchOptions& options) {
  const GeometryChoice& first = plan.ladder.front().geometry;
  if (!first.streamed || has_one_turn(first.modes) || geometries.stopped()) return std::nullopt;
  std::erase_if(candidates, [](const auto& choice) { return !choice.streamed || !has_one_turn(choice.modes); });
  RungQuery query;
  query.persistent = options.memory_limit - plan.memory.total();
  query.transient = plan.memory.transient;
  query.volume = options.volume;
  std::optional<FoundRung> rung = geometries.best(candidates, query);
  if (!rung) return std::nullopt;
  const std::vector<GeometryChoice> near = make_neighbours(network, options, rung->rung.geometry);
  rung = geometries.best(near, query, nullptr, std::move(rung));
  append(plan, rung->rung);
  return measure_of(rung->geometry);
}

Error refuse(GeometrySearch& geometries, const Network& network, const std::vector<GeometryChoice>& candidates,
             const SearchOptions& options) {
  Error stopped_early{ErrorCode::cancelled, "the search was stopped before it found a plan"};
  if (geometries.stopped()) return stopped_early;
  const std::optional<std::int64_t> least = geometries.least_bytes(candidates);
  if (geometries.stopped()) return stopped_early;
  if (!least) {
    return {ErrorCode::unsupported,
            "no patch of " + network.name + with_pins(options.pins) + " can be computed: " + geometries.last_refusal()};
  }
  const std::int64_t needed = add(*least, weight_bytes(network));
  return {ErrorCode::over_budget, "no plan for " + network.name + with_pins(options.pins) + " fits into " +
                                      bytes_text(options.memory_limit) + ": the smallest budget that would do is " +
                                      std::to_string(needed) + " bytes (" + bytes_text(needed) + ")"};
}

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
  if (Result<void> sound = check_options(network, options); !sound) return sound.error();
  Result<std::vector<const Primitive*>> forced = resolve_force(network, catalogue, options.force);
  if (!forced) return forced.error();
  const std::vector<GeometryChoice> candidates = make_candidates(network, options);
  GeometrySearch geometries(network, spec, catalogue, costs, options, *forced);
  if (candidates.empty() && !geometries.stopped()) return no_candidate(network, options);
  RungQuery query;
  query.total = options.memory_limit - weight_bytes(network);
  query.volume = options.volume;
  std::optional<FoundRung> first;
  std::vector<Candidate>* const looked_at = log == nullptr ? nullptr : &log->candidates;
  if (query.total > 0) first = geometries.best(candidates, query, looked_at);
  if (first && !geometries.stopped()) {
    const std::vector<GeometryChoice> near = make_neighbours(network, options, first->rung.geometry);
    first = geometries.best(near, query, looked_at, std::move(first));
  }
  if (!first) return refuse(geometries, network, candidates, options);
  Plan plan = rung_plan(network, spec, catalogue, options, *first);
  if (log != nullptr) log_choices(network, *first, spec, catalogue, costs, *log);
  if (options.ladder && !geometries.stopped()) {
    geometries.turn_to_smaller();
    const std::vector<GeometryChoice> others = candidates_of_smaller_rungs(network, options, candidates);
    const std::optional<Vec3> prompt = add_prompt_stream(plan, geometries, network, others, options);
    add_ladder(plan, geometries, network, prompt.value_or(measure_of(first->geometry)), others, options.memory_limit);
  }
  return plan;
}

}  // namespace znni
