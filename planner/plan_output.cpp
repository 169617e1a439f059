#include "planner/plan_output.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <iostream>
#include <optional>

#include "planner/curves.hpp"
#include "planner/explain.hpp"
#include "planner/explain_json.hpp"
#include "planner/k8s_resources.hpp"
#include "planner/report_page.hpp"
#include "planner/search_bound.hpp"
#include "planner/summary.hpp"
#include "planner/text_table.hpp"
#include "primitives/core/write_atomically.hpp"
#include "primitives/cpu/machine.hpp"

namespace znni {
namespace {

// Says where the plan ends at a bound of the search, and not at memory.
void say_bound(const Network& network, const Plan& plan, const Session& session) {
  if (session.options.pins.patch) return;
  const SearchOptions defaults;
  const std::int64_t max_extent = session.options.bounds.max_extent.value_or(defaults.most_extent);
  const std::string note = bound_note(network, plan, max_extent, session.options.volume);
  if (!note.empty()) warn(note);
}

// Where this machine falls short of what was asked.
void say_caveats(const Network& network, const Plan& plan, const Session& session) {
  if (interrupted()) warn("interrupted: this is the best plan so far");
  say_bound(network, plan, session);
  if (session.machine) {
    warn("planned for " + plan.key.device + " of " + session.options.machine +
         ": the plan is predicted, nothing ran here");
    return;
  }
  const std::int64_t here = cpu::memory_limit();
  if (plan.memory.total() > here) {
    warn("the plan needs " + bytes_text(plan.memory.total()) + ", this machine has " + bytes_text(here) +
         ": the plan is predicted, it cannot run here");
  } else if (plan.key.memory_limit > here) {
    warn("--mem is more than the " + bytes_text(here) + " of this machine");
  }
}

// More searches with the same costs, for --explain and --report.
class Beside {
 public:
  Beside(const Network& network, const Session& session, const std::optional<MachinePlaces>& places)
      : network_(network),
        session_(session),
        places_(places),
        progress_(std::cerr, isatty(STDERR_FILENO) == 1),
        costs_(session_costs(session)),
        options_(search_options(session, progress_)) {}

  std::string next_better(const Plan& plan) {
    if (plan.sockets > 1) return "";  // searches beside are for the machine as a whole
    progress_.tell("searching with more memory");
    const CurveSetting setting = this->setting(options_.strategy);
    const double rate = plan.predicted.voxels_per_second;
    return znni::next_better(search_within(setting), session_.memory_limit, rate, "host RAM", options_.stop);
  }

  std::string next_better(const SplitPlan& plan) {
    progress_.tell("searching with more memory");
    const SplitStrategy strategy = *session_.options.split;
    const double rate = plan.plan.predicted.voxels_per_second;
    const PlanWithin host = [&](std::int64_t limit) { return split_sample(strategy, limit, places_->memory); };
    const PlanWithin device = [&](std::int64_t limit) {
      SpaceBytes memory = places_->memory;
      memory.device = limit;
      return split_sample(strategy, session_.memory_limit, memory, true);
    };
    const std::string first = znni::next_better(host, session_.memory_limit, rate, "host RAM", options_.stop);
    const std::string second = znni::next_better(device, places_->memory.device, rate, "GPU memory", options_.stop);
    return first.empty() || second.empty() ? first + second : first + "; " + second;
  }

  // Of every strategy that the machine allows.
  std::vector<StrategyCurves> curves() {
    std::vector<StrategyCurves> all;
    for (const Strategy strategy : {Strategy::cpu, Strategy::baseline}) all.push_back(curves_of(strategy));
    if (!places_) return all;
    for (const SplitStrategy split : {SplitStrategy::gpu, SplitStrategy::gpu_host_ram, SplitStrategy::cpu_gpu}) {
      all.push_back(curves_of(split));
    }
    return all;
  }

 private:
  StrategyCurves curves_of(Strategy strategy) {
    const CurveSetting setting = this->setting(strategy);
    StrategyCurves curves{std::string(to_string(strategy)), {}, {}};
    curves.memory = in_memories(curves.strategy, search_within(setting));
    progress_.tell("report: " + curves.strategy + " by patch size");
    curves.size = by_size(setting);
    return curves;
  }

  StrategyCurves curves_of(SplitStrategy strategy) {
    StrategyCurves curves{std::string(to_string(strategy)), {}, {}};
    curves.memory = in_memories(curves.strategy,
                                [&](std::int64_t limit) { return split_sample(strategy, limit, places_->memory); });
    progress_.tell("report: " + curves.strategy + " by patch size");
    for (const Candidate& patch : split_cubes(network_, session_.catalogue, *costs_, *places_, strategy, options_)) {
      curves.size.push_back(
          {session_.memory_limit, patch.choice.pass_input, patch.voxels_per_second, patch.memory.total()});
    }
    return curves;
  }

  std::vector<CurveSample> in_memories(const std::string& strategy, const PlanWithin& within) {
    return by_memory(
        [&](std::int64_t limit) {
          progress_.tell("report: " + strategy + " in " + bytes_text(limit));
          return within(limit);
        },
        limits_around(session_.memory_limit), options_.stop);
  }

  Result<SplitPlan> plan(SplitStrategy strategy, std::int64_t limit, const SpaceBytes& memory) {
    MachinePlaces places = *places_;
    places.memory = memory;
    SearchOptions options = options_;
    options.memory_limit = limit;
    options.ladder = false;
    return plan_split(network_, session_.catalogue, *costs_, places, strategy, options);
  }

  CurveSample split_sample(SplitStrategy strategy, std::int64_t limit, const SpaceBytes& memory, bool device = false) {
    const Result<SplitPlan> found = plan(strategy, limit, memory);
    if (!found) return {limit, {}, 0, 0};
    const Vec3 patch = found->plan.ladder.front().geometry.pass_input;
    const std::int64_t bytes = device ? found->bytes.device : found->plan.memory.total();
    return {limit, patch, found->plan.predicted.voxels_per_second, bytes};
  }

  CurveSetting setting(Strategy strategy) {
    SearchOptions options = options_;
    options.strategy = strategy;
    return {network_, session_.spec, session_.catalogue, *costs_, options};
  }

  const Network& network_;
  const Session& session_;
  const std::optional<MachinePlaces>& places_;
  Progress progress_;
  std::unique_ptr<CostSource> costs_;
  SearchOptions options_;
};

// A plan with what is told of it.
struct Told {
  const Network& network;
  const Plan& plan;
  const PlanReport& report;
  const Session& session;
  const SearchLog& log;
};

// Reasons for --explain, "" without it; writes the page of --report.
Result<std::string> explain_and_report(const Told& told, Beside& beside, const std::string& better) {
  const PlannerOptions& options = told.session.options;
  if (!options.report.empty()) {
    const std::string page = report_page(told.network, told.plan, told.report, told.log, beside.curves(), better);
    if (Result<void> written = write_atomically(options.report, page); !written) return written.error();
  }
  if (!options.explain) return std::string();
  return explain(told.network, told.plan, told.report, told.log) +
         (better.empty() ? "" : "next better\n  " + better + "\n");
}

// `otherwise`: what is printed where nothing else is asked for.
void print(const Told& told, const std::string& reasons, const std::string& otherwise, const DeviceSpec* gpu) {
  const PlannerOptions& options = told.session.options;
  if (options.json || options.k8s_resources) std::fputs(reasons.c_str(), stderr);
  if (options.json) {
    std::fputs(explain_json(told.plan, told.report, told.session.spec, gpu).c_str(), stdout);
  } else if (options.k8s_resources) {
    std::fputs(k8s_resources(told.plan).c_str(), stdout);
  } else {
    std::fputs(reasons.empty() ? otherwise.c_str() : reasons.c_str(), stdout);
  }
}

// What the machine of --machine has; nothing where it has no GPU that could be planned for.
std::optional<MachinePlaces> other_places(const Session& session) {
  if (!session.machine) return std::nullopt;
  const Result<MachinePlaces> places = session_places(session);
  return places ? std::optional(*places) : std::nullopt;
}

template <class Found>
Result<void> print_all(const Told& told, const Found& found, const std::optional<MachinePlaces>& places,
                       const std::string& otherwise, const DeviceSpec* gpu) {
  say_caveats(told.network, told.plan, told.session);
  std::string reasons;
  if (told.session.options.explain || !told.session.options.report.empty()) {
    Beside beside(told.network, told.session, places);
    Result<std::string> explained = explain_and_report(told, beside, beside.next_better(found));
    if (!explained) return explained.error();
    reasons = *std::move(explained);
  }
  print(told, reasons, otherwise, gpu);
  return {};
}

}  // namespace

Result<void> print_plan(const Network& network, const Plan& plan, const Session& session, const SearchLog& log) {
  const Result<PlanReport> report = make_report(network, plan, session.catalogue, session.spec);
  if (!report) return report.error();
  return print_all({network, plan, *report, session, log}, plan, other_places(session), summary(plan), nullptr);
}

Result<void> print_plan(const Network& network, const SplitPlan& plan, const MachinePlaces& places,
                        const Session& session, const SearchLog& log) {
  const Result<PlanReport> report = make_report(network, plan, session.catalogue, places.specs);
  if (!report) return report.error();
  return print_all({network, plan.plan, *report, session, log}, plan, places, split_summary(plan), &places.specs.gpu);
}

}  // namespace znni
