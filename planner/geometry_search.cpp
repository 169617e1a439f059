#include "planner/geometry_search.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <numeric>

#include "planner/exchange.hpp"
#include "planner/schedule.hpp"
#include "planner/throughput.hpp"

namespace znni {
namespace {

// With a log, candidates this close to the best are computed exactly rather than cut, so that it can show them.
constexpr double logged_share = 0.8;

std::string rate_text(double voxels_per_second) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.4g voxels/s", voxels_per_second);
  return text.data();
}

// Why what is known of a geometry's bytes already breaks a limit; "" when it does not.
std::string over(const GeometryOptions& options, const RungQuery& query) {
  const std::int64_t transient = add(options.least_transient, options.least_histories);
  const std::int64_t sum = add(options.least_persistent, transient);
  const std::int64_t limit = std::min(query.total, add(query.persistent, query.transient));
  const bool fits = transient <= query.transient && options.least_persistent <= query.persistent;
  if (fits && sum <= query.total) return "";
  return "needs at least " + bytes_text(sum) + " beside the weights, " + bytes_text(limit) + " are left";
}

}  // namespace

struct GeometrySearch::Look {
  Geometry geometry;
  GeometryOptions options;
  Seconds copying = 0;
  double useful = 0;

  const NetworkUse* use = nullptr;

  // The calls of a patch must take less to beat `to_beat` voxels per second.
  [[nodiscard]] Seconds seconds_limit(double to_beat) const {
    if (to_beat <= 0) return std::numeric_limits<double>::infinity();
    return useful / to_beat - copying;
  }
};

GeometrySearch::GeometrySearch(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue,
                               CostSource& costs, const SearchOptions& options, std::vector<const Primitive*> forced)
    : network_(network),
      spec_(spec),
      catalogue_(catalogue),
      options_(options),
      forced_(std::move(forced)),
      fov_(reaches(network).back().fov),
      seconds_per_operation_(network.nodes.size(), 1e-12),
      table_(catalogue, spec, costs) {}

std::optional<FoundRung> GeometrySearch::best(const std::vector<GeometryChoice>& candidates, const RungQuery& query,
                                              std::vector<Candidate>* log, std::optional<FoundRung> best) {
  for (const GeometryChoice& choice : candidates) {
    if (stopped()) break;
    const double record = best ? best->voxels_per_second : 0;
    const double to_beat = log != nullptr ? record * logged_share : record;
    Look found;
    std::optional<FoundRung> rung;
    std::string refused = look(choice, query, to_beat, found);
    if (refused.empty()) refused = fit(found, query, to_beat, rung);
    if (log != nullptr) {
      log->push_back({choice, rung ? rung->voxels_per_second : 0, rung ? rung->rung.memory : MemoryUse{}, refused});
    }
    if (rung && rung->voxels_per_second > record) best = std::move(rung);
  }
  return best;
}

std::optional<std::int64_t> GeometrySearch::least_bytes(const std::vector<GeometryChoice>& candidates) {
  std::optional<std::int64_t> least;
  for (auto choice = candidates.rbegin(); choice != candidates.rend() && !stopped(); ++choice) {
    Look found;
    RungQuery query;
    query.total = least.value_or(saturated);
    if (!look(*choice, query, 0, found).empty()) continue;
    std::vector<Assignment> assignments = combine(*found.use, found.geometry, found.options, table_, {query.total});
    std::stable_sort(assignments.begin(), assignments.end(), [](const Assignment& a, const Assignment& b) {
      return add(a.persistent, a.transient) < add(b.persistent, b.transient);
    });
    for (const Assignment& assignment : assignments) {
      if (least && add(assignment.persistent, assignment.transient) >= *least) break;
      const MemoryUse memory = schedule(found, assignment).rung.memory;
      least = std::min(least.value_or(saturated), add(memory.persistent, memory.transient));
    }
  }
  return least;
}

// Least bytes of other values alive at a call: float32 without padding is the smallest a CPU value can be.
std::int64_t GeometrySearch::least_live(const Look& found, std::size_t node) {
  std::int64_t sum = 0;
  for (const int value : found.use->live_through[node]) sum = add(sum, value_bytes(found.geometry, value, Format{}));
  return sum;
}

const NetworkUse& GeometrySearch::use_of(const Geometry& geometry) {
  const UseKey key(geometry.held, geometry.head.last, geometry.choice.streamed);
  const auto found = uses_.find(key);
  if (found != uses_.end()) return found->second;
  return uses_.emplace(key, network_use(network_, geometry)).first->second;
}

// Describes node after node, the slowest first, and stops at the first proof that the candidate cannot win.
std::string GeometrySearch::look(const GeometryChoice& choice, const RungQuery& query, double to_beat, Look& found) {
  Result<Geometry> geometry = make_geometry(network_, choice);
  if (!geometry) return geometry.error().message;
  found.geometry = std::move(*geometry);
  const Geometry& shapes = found.geometry;
  if (query.largest_output && !covers(*query.largest_output, shapes.patch_output)) return "larger than this rung";
  found.copying = copy_seconds(network_, shapes, spec_);
  found.useful = useful_voxels(shapes, fov_, query.volume);
  found.use = &use_of(shapes);
  found.options.nodes.assign(shapes.problems.size(), nullptr);
  found.options.kernels = choice.axis == 0 ? 0 : kernel_bytes(network_);
  found.options.least_persistent = found.options.kernels;
  for (std::size_t value = 0; value < shapes.values.size(); ++value) {
    const std::int64_t bytes = value_bytes(shapes, static_cast<int>(value), Format{});
    found.options.least_transient = std::max(found.options.least_transient, bytes);
    const std::int64_t kept = history_bytes(shapes, static_cast<int>(value), Format{});
    found.options.least_histories = add(found.options.least_histories, round_up(kept, buffer_alignment));
  }
  if (std::string refused = over(found.options, query); !refused.empty()) return refused;
  for (const std::size_t node : slowest_first(shapes)) {
    if (std::string refused = add_node(node, query, to_beat, found); !refused.empty()) return refused;
  }
  return "";
}

// By the time each node is likely to take: as long for an operation as where it was described before.
std::vector<std::size_t> GeometrySearch::slowest_first(const Geometry& geometry) const {
  std::vector<Seconds> likely;
  for (std::size_t node = 0; node < geometry.problems.size(); ++node) {
    const double operations = static_cast<double>(geometry.runs[node]) * direct_flops(geometry.problems[node]);
    likely.push_back(operations * seconds_per_operation_[node]);
  }
  std::vector<std::size_t> order(likely.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return likely[a] > likely[b]; });
  return order;
}

std::string GeometrySearch::add_node(std::size_t node, const RungQuery& query, double to_beat, Look& found) {
  const LayerProblem& problem = found.geometry.problems[node];
  const std::int64_t history = written_history(found.geometry, static_cast<int>(node));
  const LayerOptions& options = table_.get(problem, found.use->uses[node], forced_[node], history);
  if (options.empty()) {
    last_refusal_ = "node " + network_.nodes[node].name + ": " + table_.refusals(problem, forced_[node]);
    return last_refusal_;
  }
  found.options.nodes[node] = &options;
  LayerOption least = options.front();
  for (const LayerOption& option : options) {
    least.cost.seconds = std::min(least.cost.seconds, option.cost.seconds);
    least.persistent = std::min(least.persistent, option.persistent);
    least.peak = std::min({least.peak, option.peak, option.reordered_peak});
  }
  seconds_per_operation_[node] = least.cost.seconds / std::max(1.0, direct_flops(problem));
  found.options.least_seconds += static_cast<double>(found.geometry.runs[node]) * least.cost.seconds;
  found.options.least_persistent = add(found.options.least_persistent, least.persistent);
  found.options.least_transient = std::max(found.options.least_transient, add(least.peak, least_live(found, node)));
  if (std::string refused = over(found.options, query); !refused.empty()) return refused;
  if (found.options.least_seconds < found.seconds_limit(to_beat)) return "";
  const Seconds patch = found.options.least_seconds + found.copying;
  return "slower: less than " + rate_text(found.useful / patch);
}

std::string GeometrySearch::fit(const Look& look, const RungQuery& query, double to_beat,
                                std::optional<FoundRung>& rung) {
  const ChoiceLimits limits{query.total, query.persistent, query.transient, look.seconds_limit(to_beat)};
  const std::vector<Assignment> assignments = combine(*look.use, look.geometry, look.options, table_, limits);
  for (const Assignment& assignment : assignments) {
    FoundRung found = schedule(look, assignment);
    const MemoryUse& memory = found.rung.memory;
    if (memory.transient > query.transient || memory.persistent > query.persistent) continue;
    if (add(memory.persistent, memory.transient) > query.total) continue;
    rung = std::move(found);
    return "";
  }
  return assignments.empty() ? "no combination of its layers both fits and is fast enough" : "does not pack";
}

FoundRung GeometrySearch::schedule(const Look& look, const Assignment& assignment) const {
  FoundRung found;
  found.geometry = look.geometry;
  std::vector<Step> all = steps(look.geometry, assignment);
  const Result<Schedule> made = make_schedule(network_, look.geometry, all, catalogue_, spec_);
  ensure(made.has_value(), made ? "" : made.error().message);
  Segment segment;
  segment.first = all.front().node;
  segment.last = all.back().node;
  segment.steps = std::move(all);
  found.rung.geometry = look.geometry.choice;
  found.rung.segments = {std::move(segment)};
  found.rung.seconds = assignment.seconds + look.copying;
  found.rung.memory = {weight_bytes(network_), persistent_bytes(made->memory), pack(made->memory).bytes};
  found.voxels_per_second = look.useful / found.rung.seconds;
  return found;
}

std::vector<Step> GeometrySearch::steps(const Geometry& geometry, const Assignment& assignment) const {
  std::vector<Step> all;
  if (assignment.input_reorder != nullptr) {
    const LayerOption& reorder = *assignment.input_reorder;
    Step step;
    step.node = -1;
    step.in = step.native = reorder.in;
    step.out = reorder.out;
    step.reorder = reorder.primitive->name;
    step.seconds = reorder.cost.seconds;
    step.basis = reorder.cost.basis;
    step.error = reorder.cost.error;
    all.push_back(std::move(step));
  }
  for (std::size_t node = 0; node < assignment.nodes.size(); ++node) {
    const auto& [option, reorder] = assignment.nodes[node];
    const Result<std::vector<Estimate>> estimates = option->primitive->describe(geometry.problems[node], spec_);
    ensure(estimates.has_value(), "a primitive described a problem once and then refused it");
    Step step;
    step.node = static_cast<int>(node);
    step.primitive = option->primitive->name;
    step.version = option->primitive->version;
    step.variant = (*estimates)[static_cast<std::size_t>(option->estimate)].variant;
    step.in = option->in;
    step.native = step.out = option->out;
    step.seconds = option->cost.seconds;
    step.basis = option->cost.basis;
    step.error = option->cost.error;
    if (reorder != nullptr) {
      step.out = reorder->out;
      step.reorder = reorder->primitive->name;
      const Cost both = together(option->cost, reorder->cost);
      step.seconds = both.seconds;
      step.basis = both.basis;
      step.error = both.error;
    }
    all.push_back(std::move(step));
  }
  return all;
}

}  // namespace znni
