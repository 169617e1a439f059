#include "planner/search/geometry_search.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include "planner/base/parallel.hpp"
#include "planner/network/swap_axes.hpp"
#include "planner/plan/pairs.hpp"
#include "planner/plan/throughput.hpp"
#include "planner/search/looking_order.hpp"
#include "planner/search/search_family.hpp"
#include "planner/search/search_teller.hpp"

namespace znni {
namespace {

// Pairs of which every subset is looked at. Nets have one that a primitive computes, their first convolution's.
constexpr std::size_t max_pairs = 4;

// Options of the first node of a pair: the second does all the work.
const LayerOptions left_to_the_pair = [] {
  LayerOption nothing;
  nothing.joined = true;
  return LayerOptions{nothing};
}();

ChoiceLimits limits_of(const RungQuery& query) { return {query.total, query.persistent, query.transient}; }

}  // namespace

struct GeometrySearch::GeometryEvaluation {
  Geometry geometry;  // as it is searched: in pairs, where some are
  const SearchFamily* family = nullptr;
  std::vector<bool> absent;  // per value: whether a pair leaves it out; empty where none does
  const NetworkUse* use = nullptr;
  GeometryOptions options;
  Seconds copying = 0;
  double useful = 0;
  std::vector<Seconds> seconds_per_operation;  // per node; 0 where it was not described
  std::vector<Seconds> bounds;                 // per node, of all its calls; 0 once it is among `options`
  Seconds bounded = 0;                         // their sum

  [[nodiscard]] bool leaves_out(std::size_t value) const { return !absent.empty() && absent[value]; }

  // Returns the time that the calls of a patch may take at most to reach `to_beat` voxels per second. What rounding
  // might hide is left to the comparison of what was found.
  [[nodiscard]] Seconds seconds_limit(double to_beat) const {
    constexpr double rounding = 1e-12;
    if (to_beat <= 0) return std::numeric_limits<double>::infinity();
    return useful / to_beat * (1 + rounding) - copying;
  }
};

struct GeometrySearch::Outcome {
  Verdict verdict;
  std::optional<FoundRung> rung;
  std::vector<Seconds> seconds_per_operation;

  [[nodiscard]] double voxels_per_second() const { return rung ? rung->voxels_per_second : 0; }
  // Keeps the faster of two outcomes; if neither fits, the one that lacks least.
  void take_better(Outcome other) {
    const bool lacks_less = verdict.kind == Verdict::Kind::memory && other.verdict.kind == Verdict::Kind::memory &&
                            other.verdict.bytes < verdict.bytes;
    const bool better = other.rung ? other.voxels_per_second() > voxels_per_second() : !rung && lacks_less;
    if (!better) return;
    verdict = std::move(other.verdict);
    rung = std::move(other.rung);
  }
};

GeometrySearch::GeometrySearch(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue,
                               CostSource& costs, const SearchOptions& options, std::vector<const Primitive*> forced)
    : network_(network),
      spec_(spec),
      catalogue_(catalogue),
      options_(options),
      question_(options.stop),
      forced_(std::move(forced)),
      fov_(reaches(network).back().fov),
      kernel_bytes_(kernel_bytes(network)),
      seconds_per_operation_(network.nodes.size(), 1e-12),
      table_(catalogue, spec, costs) {}

GeometrySearch::~GeometrySearch() = default;

// Returns the family of each candidate. Two families often take turns: with the stem in slabs, and without.
GeometrySearch::Families GeometrySearch::families_of(const std::vector<GeometryChoice>& candidates) {
  using Entry = decltype(families_)::value_type;
  std::array<const Entry*, 2> last = {};
  Families families;
  families.reserve(candidates.size());
  const FamilyOrder before;
  for (const GeometryChoice& choice : candidates) {
    if (stopped()) break;
    const auto is_same = [&](const Entry* entry) {
      return entry != nullptr && !before(entry->first, choice) && !before(choice, entry->first);
    };
    if (!is_same(last[0])) std::swap(last[0], last[1]);
    if (!is_same(last[0])) {
      std::unique_ptr<SearchFamily>& family = families_[choice];
      if (family == nullptr) family = std::make_unique<SearchFamily>(network_, choice);
      last[0] = &*families_.find(choice);
    }
    families.push_back(last[0]->second.get());
  }
  return families;
}

std::optional<FoundRung> GeometrySearch::best(const std::vector<GeometryChoice>& candidates, const RungQuery& query,
                                              std::vector<Candidate>* log, std::optional<FoundRung> best) {
  SearchTeller teller(options_.progress, {0, std::ssize(candidates), best ? best->voxels_per_second : 0, smaller_});
  const Families families = families_of(candidates);
  if (families.size() < candidates.size()) return best;
  const std::vector<std::size_t> order = looking_order(candidates.size());
  std::vector<std::optional<Candidate>> seen(log == nullptr ? 0 : candidates.size());
  LeadingRung leader{std::move(best), {}};
  for (std::size_t done = 0; done < order.size() && !stopped();) {
    const double to_beat =
        std::max(query.floor, leader.voxels_per_second()) * (log == nullptr ? 1 : options_.logged_share);
    std::vector<Outcome> round(std::min(order.size() - done, round_size(done)));
    parallel_for(options_.threads, round.size(), [&](std::size_t i) {
      const std::size_t number = order[done + i];
      round[i] = outcome(*families[number], candidates[number].pass_input, query, to_beat);
      teller.looked();
    });
    for (Outcome& each : round) {
      const std::size_t number = order[done++];
      learn(each);
      if (each.verdict.kind == Verdict::Kind::stopped) continue;
      if (log != nullptr) seen[number] = logged(candidates[number], each);
      if (each.rung) leader.offer(*std::move(each.rung), number);
    }
    teller.found(leader.voxels_per_second());
  }
  for (std::optional<Candidate>& candidate : seen) {
    if (candidate) log->push_back(*std::move(candidate));
  }
  return std::move(leader.best);
}

Candidate GeometrySearch::logged(const GeometryChoice& choice, const Outcome& outcome) {
  if (!outcome.rung) return {choice, 0, {}, outcome.verdict.text()};
  return {choice, outcome.rung->voxels_per_second, outcome.rung->rung.memory, ""};
}

void GeometrySearch::learn(const Outcome& outcome) {
  if (outcome.verdict.kind == Verdict::Kind::undescribed) last_refusal_ = outcome.verdict.why;
  for (std::size_t node = 0; node < outcome.seconds_per_operation.size(); ++node) {
    const Seconds found = outcome.seconds_per_operation[node];
    if (found > 0) seconds_per_operation_[node] = found;
  }
}

// Computes the outcome of a candidate with each layer by itself, and in pairs.
GeometrySearch::Outcome GeometrySearch::outcome(const SearchFamily& family, Vec3 pass_input, const RungQuery& query,
                                                double to_beat) {
  GeometryEvaluation apart;
  if (stopped()) return {Verdict(Verdict::Kind::stopped), {}, {}};
  if (Verdict verdict = lay_out(family, pass_input, query, apart); !verdict.is_in()) return {verdict, {}, {}};
  Outcome best = weigh(apart, query, to_beat);
  for (const std::vector<bool>& absent : pairings(apart, query)) {
    GeometryEvaluation look = in_pairs(apart, absent);
    best.take_better(weigh(look, query, std::max(to_beat, best.voxels_per_second())));
  }
  return best;
}

GeometrySearch::Outcome GeometrySearch::weigh(GeometryEvaluation& look, const RungQuery& query, double to_beat) {
  Outcome outcome;
  outcome.verdict = describe(query, to_beat, look);
  outcome.seconds_per_operation = std::move(look.seconds_per_operation);
  if (outcome.verdict.is_in()) outcome.verdict = fit(look, query, to_beat, outcome.rung);
  return outcome;
}

// Returns, for each subset of the pairs that some primitive may compute, the values that it leaves out.
std::vector<std::vector<bool>> GeometrySearch::pairings(const GeometryEvaluation& apart, const RungQuery& query) {
  const std::size_t values = apart.geometry.values.size();
  std::vector<std::size_t> between;
  for (std::size_t node = 0; node + 2 < values && between.size() < max_pairs; ++node) {
    if (pair_problem(network_, apart.geometry, static_cast<int>(node))) between.push_back(node + 1);
  }
  if (between.empty()) return {};
  const GeometryOptions least = tensors_of(apart.geometry, kernel_bytes_, between);  // of every subset
  if (!Verdict::of_bytes(least, limits_of(query)).is_in()) return {};
  std::erase_if(between, [&](std::size_t value) { return !may_begin_pair(value - 1, apart); });
  return subsets_of(between, values);
}

// Returns whether some primitive computes `node` and the pooling behind it: here, or at other extents.
bool GeometrySearch::may_begin_pair(std::size_t node, const GeometryEvaluation& apart) {
  const auto [own, next] = std::pair(forced_[node], forced_[node + 1]);
  if (own != nullptr && next != nullptr && own != next) return false;
  std::atomic<bool>& known = apart.family->begins_pair(node);
  if (known) return true;
  const ConvPoolProblem both = pair_problem(network_, apart.geometry, static_cast<int>(node)).value();
  const Vec3 around = around_output(apart.geometry, static_cast<int>(node) + 1);
  return known = std::isfinite(table_.min_seconds(both, {InputUse{}}, own != nullptr ? own : next, around));
}

GeometrySearch::GeometryEvaluation GeometrySearch::in_pairs(const GeometryEvaluation& apart,
                                                            const std::vector<bool>& absent) const {
  GeometryEvaluation look;
  look.family = apart.family;
  look.absent = absent;
  look.geometry = searched_in_pairs(network_, apart.geometry, absent);
  look.use = &apart.family->use_in_pairs(absent);
  return look;
}

std::optional<std::int64_t> GeometrySearch::min_bytes(const std::vector<GeometryChoice>& candidates) {
  const Families families = families_of(candidates);
  std::optional<std::int64_t> least;
  for (std::size_t number = families.size(); number-- > 0 && !stopped();) {
    GeometryEvaluation apart;
    if (!lay_out(*families[number], candidates[number].pass_input, {}, apart).is_in()) continue;
    for (const std::vector<bool>& absent : pairings(apart, {})) {
      GeometryEvaluation look = in_pairs(apart, absent);
      lessen(look, least);
    }
    lessen(apart, least);
  }
  return least;
}

// Lowers `least` if some combination needs less.
void GeometrySearch::lessen(GeometryEvaluation& look, std::optional<std::int64_t>& least) {
  RungQuery query;
  query.total = least.value_or(saturated);
  const Verdict verdict = describe(query, 0, look);
  if (verdict.kind == Verdict::Kind::undescribed) last_refusal_ = verdict.why;
  if (!verdict.is_in()) return;
  std::vector<Assignment> assignments =
      combine(*look.use, look.geometry, look.options, table_, {query.total}, question_);
  std::stable_sort(assignments.begin(), assignments.end(), [](const Assignment& a, const Assignment& b) {
    return add(a.persistent, a.transient) < add(b.persistent, b.transient);
  });
  for (const Assignment& assignment : assignments) {
    if (stopped() || (least && add(assignment.persistent, assignment.transient) >= *least)) break;
    const MemoryUse memory = schedule(look, assignment).rung.memory;
    least = std::min(least.value_or(saturated), add(memory.persistent, memory.transient));
  }
}

Vec3 GeometrySearch::smallest_output(const std::vector<GeometryChoice>& candidates) {
  const Families families = families_of(candidates);
  Vec3 smallest = Vec3::cube(std::int64_t{1} << 20);
  for (std::size_t number = 0; number < families.size(); ++number) {
    const Result<GeometryFamily>& geometries = families[number]->geometries();
    if (!geometries) continue;
    const Vec3 output = geometries->patch_output(candidates[number].pass_input);
    if (voxels(output) < voxels(smallest)) smallest = output;
  }
  return smallest;
}

// Returns the least bytes of other values alive at a call: float32 without padding is the smallest a CPU value can be.
std::int64_t GeometrySearch::min_live(const GeometryEvaluation& found, std::size_t node) {
  std::int64_t sum = 0;
  for (const int value : found.use->live_through[node]) sum = add(sum, value_bytes(found.geometry, value, Format{}));
  return sum;
}

GeometrySearch::Verdict GeometrySearch::lay_out(const SearchFamily& family, Vec3 pass_input, const RungQuery& query,
                                                GeometryEvaluation& found) const {
  const Result<GeometryFamily>& geometries = family.geometries();
  if (!geometries) return Verdict(Verdict::Kind::illegal, geometries.error().message);
  const std::optional<Vec3>& most = query.largest_output;
  if (most && !covers(*most, geometries->patch_output(pass_input))) return Verdict(Verdict::Kind::larger);
  Result<Geometry> geometry = geometries->at(pass_input);
  if (!geometry) return Verdict(Verdict::Kind::illegal, geometry.error().message);
  found.family = &family;
  found.use = &family.use();
  found.geometry = *std::move(geometry);
  return {};
}

// Describes node after node, the slowest first, and stops at the first proof that the candidate cannot win.
GeometrySearch::Verdict GeometrySearch::describe(const RungQuery& query, double to_beat, GeometryEvaluation& found) {
  const Geometry& shapes = found.geometry;
  found.copying = copy_seconds(network_, shapes, spec_);
  found.useful = useful_voxels(shapes, fov_, query.volume);
  found.options = tensors_of(shapes, kernel_bytes_);
  if (Verdict verdict = Verdict::of_bytes(found.options, limits_of(query)); !verdict.is_in()) return verdict;
  found.seconds_per_operation.assign(shapes.problems.size(), 0);
  const std::vector<std::size_t> order = slowest_first(found.geometry, found.absent, seconds_per_operation_);
  if (Verdict verdict = time(order, to_beat, found); !verdict.is_in()) return verdict;
  for (const std::size_t node : order) {
    if (stopped()) return Verdict(Verdict::Kind::stopped);
    if (Verdict verdict = add_node(node, query, to_beat, found); !verdict.is_in()) return verdict;
  }
  return {};
}

// Adds up the least times of nodes, without asking a library: most candidates are out then.
GeometrySearch::Verdict GeometrySearch::time(const std::vector<std::size_t>& order, double to_beat,
                                             GeometryEvaluation& found) {
  Seconds sum = 0;
  found.bounds.assign(order.size(), 0);
  for (const std::size_t node : order) {
    if (stopped()) return Verdict(Verdict::Kind::stopped);
    if (found.leaves_out(node + 1)) continue;
    const Seconds least = min_seconds(node, found);
    if (!std::isfinite(least)) return undescribed(node, found);
    found.seconds_per_operation[node] = least / std::max(1.0, direct_flops(found.geometry.problems[node]));
    found.bounds[node] = static_cast<double>(found.geometry.runs[node]) * least;
    sum += found.bounds[node];
    if (sum >= found.seconds_limit(to_beat)) return Verdict::slower(found.useful / (sum + found.copying));
  }
  found.bounded = sum;
  return {};
}

const Primitive* GeometrySearch::forced(std::size_t node, const GeometryEvaluation& found) const {
  return found.leaves_out(node) && forced_[node - 1] != nullptr ? forced_[node - 1] : forced_[node];
}

const LayerOptions& GeometrySearch::options_of(std::size_t node, const GeometryEvaluation& found) {
  if (found.leaves_out(node + 1)) return left_to_the_pair;
  const Vec3 around = around_output(found.geometry, static_cast<int>(node));
  return table_.get(found.geometry.problems[node], found.use->uses[node], forced(node, found), around);
}

Seconds GeometrySearch::min_seconds(std::size_t node, const GeometryEvaluation& found) {
  const Vec3 around = around_output(found.geometry, static_cast<int>(node));
  return table_.min_seconds(found.geometry.problems[node], found.use->uses[node], forced(node, found), around);
}

GeometrySearch::Verdict GeometrySearch::undescribed(std::size_t node, const GeometryEvaluation& found) const {
  const std::string reasons = table_.refusals(found.geometry.problems[node], forced(node, found));
  return Verdict(Verdict::Kind::undescribed, "node " + network_.nodes[node].name + ": " + reasons);
}

// Counts the node with what its options take at least, the nodes behind it with their bounds: no combination takes
// less.
GeometrySearch::Verdict GeometrySearch::add_node(std::size_t node, const RungQuery& query, double to_beat,
                                                 GeometryEvaluation& found) {
  const LayerOptions& options = options_of(node, found);
  if (options.empty()) return undescribed(node, found);
  found.options.nodes[node] = &options;
  LayerOption least = options.front();
  for (const LayerOption& option : options) {
    least.cost.seconds = std::min(least.cost.seconds, option.cost.seconds);
    least.persistent = std::min(least.persistent, option.persistent);
    least.peak = std::min({least.peak, option.peak, option.reordered_peak});
  }
  found.options.min_seconds += static_cast<double>(found.geometry.runs[node]) * least.cost.seconds;
  found.options.min_persistent = add(found.options.min_persistent, least.persistent);
  found.options.min_transient = std::max(found.options.min_transient, add(least.peak, min_live(found, node)));
  if (Verdict verdict = Verdict::of_bytes(found.options, limits_of(query)); !verdict.is_in()) return verdict;
  found.bounded -= std::exchange(found.bounds[node], 0);  // from now on its share is that of its options
  const Seconds min_of_all = found.options.min_seconds + std::max(found.bounded, 0.0);
  if (min_of_all < found.seconds_limit(to_beat)) return {};
  return Verdict::slower(found.useful / (min_of_all + found.copying));
}

GeometrySearch::Verdict GeometrySearch::fit(const GeometryEvaluation& look, const RungQuery& query, double to_beat,
                                            std::optional<FoundRung>& rung) {
  const ChoiceLimits limits{query.total, query.persistent, query.transient, look.seconds_limit(to_beat)};
  bool cut = false;
  const std::vector<Assignment> assignments =
      combine(*look.use, look.geometry, look.options, table_, limits, question_, &cut);
  if (cut) ++cut_;
  for (const Assignment& assignment : assignments) {
    if (stopped()) break;
    FoundRung found = schedule(look, assignment);
    const MemoryUse& memory = found.rung.memory;
    if (memory.transient > query.transient || memory.persistent > query.persistent) continue;
    if (add(memory.persistent, memory.transient) > query.total) continue;
    rung = std::move(found);
    return {};
  }
  if (stopped()) return Verdict(Verdict::Kind::stopped);
  return Verdict(assignments.empty() ? Verdict::Kind::no_combination : Verdict::Kind::unpacked);
}

FoundRung GeometrySearch::schedule(const GeometryEvaluation& look, const Assignment& assignment) const {
  Result<Geometry> geometry = look.family->geometries()->with_passes(look.geometry.choice.pass_input);
  ensure(geometry.has_value(), "a geometry that was looked at is legal");
  FoundRung found = found_rung(network_, *std::move(geometry), assignment, catalogue_, spec_);
  found.rung.seconds = assignment.seconds + look.copying;
  found.voxels_per_second = look.useful / found.rung.seconds;
  return found;
}

}  // namespace znni
