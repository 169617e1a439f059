#include "planner/measure/measured_search.hpp"

#include <algorithm>
#include <map>

#include "planner/base/text_table.hpp"
#include "planner/plan/pairs.hpp"

namespace znni {
namespace {

// Problems with the ways to measure of each, in a fixed order.
using Work = std::map<LayerProblem, std::vector<Way>>;

class Turns {
 public:
  Turns(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue, Measurer& measurer,
        const OnProgress& on_progress)
      : network_(network), spec_(spec), catalogue_(catalogue), measurer_(measurer), on_progress_(on_progress) {}

  // Measures what the plan lacks. False when nothing came of it: it lacked nothing that can be measured.
  Result<bool> measure(const Plan& plan, const std::function<bool()>& stop) {
    const std::unique_ptr<CostSource> costs = measurer_.costs();
    Work chosen;
    Work rivals;
    collect(plan.ladder.front(), *costs, chosen, rivals);
    best_ = rate_text(plan.predicted.voxels_per_second);
    return run(chosen.empty() ? rivals : chosen, stop);
  }

 private:
  Result<bool> run(const Work& work, const std::function<bool()>& stop) {
    std::vector<const Work::value_type*> order;
    for (const auto& entry : work) order.push_back(&entry);
    // The long ones decide.
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
      return a->second.front().expected > b->second.front().expected;
    });
    const std::size_t before = learned();
    std::size_t number = 0;
    for (const auto* entry : order) {
      if (measurer_.time_is_up() || (stop && stop())) break;
      const std::string which = std::to_string(++number) + " of " + std::to_string(order.size());
      if (on_progress_) on_progress_("best so far " + best_ + "; " + which + ": " + to_string(entry->first));
      if (Result<void> done = measurer_.measure(entry->first, entry->second); !done) return done.error();
    }
    return learned() > before;
  }

  // Returns the number of ways that are known now: that one does not run is worth knowing, too.
  [[nodiscard]] std::size_t learned() const {
    return static_cast<std::size_t>(measurer_.records_made()) + measurer_.failures().size();
  }

  void collect(const Rung& rung, CostSource& costs, Work& chosen, Work& rivals) {
    const Result<Geometry> geometry = make_geometry(network_, rung.geometry);
    ensure(geometry.has_value(), "a plan that was just made has no geometry");
    for (const Segment& segment : rung.segments) {
      for (std::size_t i = 0; i < segment.steps.size(); ++i) {
        const Step& step = segment.steps[i];
        const auto value = static_cast<std::size_t>(std::int64_t{step.node} + 1);
        if (begins_pair(segment.steps, i)) {
          add_node(pair_problem(network_, *geometry, step.node).value(), step, costs, chosen, rivals);
        } else if (step.node >= 0 && !is_joined(step)) {
          add_node(geometry->problems[value - 1], step, costs, chosen, rivals);
        }
        if (step.reorder.empty()) continue;
        const ReorderProblem reorder{geometry->values[value], step.native, step.out};
        add_chosen(reorder, step.reorder, {}, step.native, step.out, costs, chosen);
      }
    }
  }

  void add_node(const LayerProblem& problem, const Step& step, CostSource& costs, Work& chosen, Work& rivals) {
    add_chosen(problem, step.primitive, step.variant, step.in, step.native, costs, chosen);
    std::vector<Way> all;
    bool missing = false;
    for (const Primitive* primitive : catalogue_.primitives()) {
      if (primitive->device != spec_.kind) continue;
      Result<std::vector<Estimate>> estimates = primitive->describe(problem, spec_);
      if (!estimates) continue;
      for (Estimate& estimate : *estimates) {
        const Seconds expected = costs.cost(problem, *primitive, estimate).seconds;
        all.push_back({primitive, std::move(estimate), expected});
        missing = missing || measurer_.measurable(problem, all.back());
      }
    }
    if (missing) rivals[problem] = std::move(all);
  }

  void add_chosen(const LayerProblem& problem, std::string_view name, const Variant& variant, Format in, Format out,
                  CostSource& costs, Work& chosen) {
    Result<Estimate> estimate = catalogue_.find_estimate(name, problem, spec_, variant, in, out);
    const Primitive* primitive = catalogue_.find(name);
    if (!estimate || primitive == nullptr) return;
    Way way{primitive, *std::move(estimate), 0};
    way.expected = costs.cost(problem, *primitive, way.estimate).seconds;
    if (measurer_.measurable(problem, way)) chosen[problem].push_back(std::move(way));
  }

  const Network& network_;
  const DeviceSpec& spec_;
  const Catalogue& catalogue_;
  Measurer& measurer_;
  const OnProgress& on_progress_;
  std::string best_;  // of the plan whose layers are measured
};

}  // namespace

Result<Plan> measured_search(const Network& network, const DeviceSpec& spec, const Catalogue& catalogue,
                             Measurer& measurer, const SearchOptions& options, const OnProgress& on_progress,
                             SearchLog* log) {
  Turns turns(network, spec, catalogue, measurer, on_progress);
  SearchOptions turn = options;
  turn.ladder = false;  // until the end: smaller rungs are not measured
  const auto stopped = [&] { return measurer.time_is_up() || (options.stop && options.stop()); };
  while (!stopped()) {
    if (on_progress) on_progress("searching patches");
    const std::unique_ptr<CostSource> costs = measurer.costs();
    const Result<Plan> plan = search(network, spec, catalogue, *costs, turn);
    if (!plan && plan.error().code == ErrorCode::cancelled) break;
    if (!plan) return plan.error();
    const Result<bool> more = turns.measure(*plan, options.stop);
    if (!more) return more.error();
    if (*more) continue;
    if (turn.ladder == options.ladder) break;
    turn.ladder = options.ladder;  // room for smaller rungs may change the first one
  }
  const std::unique_ptr<CostSource> costs = measurer.costs();
  SearchOptions last = options;
  if (options.stop && options.stop()) last.stop = {};
  return search(network, spec, catalogue, *costs, last, log);
}

}  // namespace znni
