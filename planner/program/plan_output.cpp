#include "planner/program/plan_output.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <functional>
#include <optional>

#include "planner/base/text_table.hpp"
#include "planner/plan/summary.hpp"
#include "planner/program/alternatives.hpp"
#include "planner/report/explain.hpp"
#include "planner/report/explain_json.hpp"
#include "planner/report/k8s_resources.hpp"
#include "planner/report/report_page.hpp"
#include "planner/search/search_bound.hpp"
#include "primitives/core/version.hpp"
#include "primitives/core/write_atomically.hpp"
#include "primitives/cpu/device/machine.hpp"

namespace znni {
namespace {

// Says where the plan ends at a bound of the search, and not at memory.
void say_bound(const Network& network, const Plan& plan, const Session& session) {
  if (session.options.pins.patch) return;
  const SearchOptions defaults;
  const std::optional<std::int64_t>& asked_for = session.options.bounds.max_extent;
  const std::int64_t max_extent = asked_for.value_or(lifted_bound(network, plan, defaults.max_extent));
  if (!asked_for && max_extent > defaults.max_extent) {
    warn("patches of up to " + std::to_string(max_extent) + " voxels an axis were looked at, not only of " +
         std::to_string(defaults.max_extent) + ": a longer one is faster");
  }
  std::optional<Vec3> volume = session.options.volume;
  if (volume) volume = framed(network, *volume);
  const std::string note = bound_note(network, plan, max_extent, volume);
  if (!note.empty()) warn(note);
}

// Warns if this machine falls short of what was asked.
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

// A plan with what is told of it.
struct PlanWithNotes {
  const Network& network;
  const Plan& plan;
  const PlanReport& report;
  const Session& session;
  const SearchLog& log;
};

PageOrigin origin_now(const PlannerOptions& options) {
  const std::time_t now = std::time(nullptr);
  std::tm date{};
  ::gmtime_r(&now, &date);
  std::array<char, 40> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &date);
  return {text.data(), std::string(project_version), options.command_line};
}

Result<void> write_report(const PlanWithNotes& told, Alternatives& beside, const std::string& better) {
  const PlannerOptions& options = told.session.options;
  ReportFacts facts{told.network,          told.plan, told.report, told.log,
                    told.session.measured, {},        better,      origin_now(options)};
  if (options.report_curve) {
    const auto [from, to] = *options.report_curve;
    facts.curves = beside.curves(limits_between(from, to, told.session.memory_limit));
  }
  return write_atomically(options.report, report_page(facts));
}

Result<void> check_measured(const PlanWithNotes& told) {
  const std::vector<RunRecord>& runs = told.session.measured;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Result<void> of_plan = check_run(runs[i], told.plan, told.report);
    if (!of_plan) return of_plan.error().within("--measured: " + told.session.options.measured[i]);
  }
  return {};
}

std::string explanation(const PlanWithNotes& told, const std::string& better) {
  return explain(told.network, told.plan, told.report, told.log) +
         (better.empty() ? "" : "next better\n  " + better + "\n");
}

// Prints the answer. `otherwise`: the text that is printed if nothing else is asked for.
void print(const PlanWithNotes& told, const std::string& reasons, const std::string& otherwise, const DeviceSpec* gpu) {
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

// Returns what more memory would be worth; asked with --explain.
using Better = std::function<std::string(Alternatives& beside)>;

Result<void> print_all(const PlanWithNotes& told, const Better& better_of, const std::optional<MachinePlaces>& places,
                       const std::string& otherwise, const DeviceSpec* gpu) {
  say_caveats(told.network, told.plan, told.session);
  std::string reasons;
  if (told.session.options.explain || !told.session.options.report.empty()) {
    if (Result<void> of_plan = check_measured(told); !of_plan) return of_plan;
    Alternatives beside(told.network, told.session, places);
    const std::string better = told.session.options.explain ? better_of(beside) : "";
    if (told.session.options.explain) reasons = explanation(told, better);
    const bool has_page = !told.session.options.report.empty();
    if (Result<void> written = has_page ? write_report(told, beside, better) : Result<void>(); !written) return written;
  }
  print(told, reasons, otherwise, gpu);
  return {};
}

}  // namespace

Result<void> print_plan(const Network& network, const Plan& plan, const Session& session, const SearchLog& log) {
  const Result<PlanReport> report = make_report(network, plan, session.catalogue, session.spec);
  if (!report) return report.error();
  const Better better = [&](Alternatives& beside) { return beside.next_better(plan); };
  return print_all({network, plan, *report, session, log}, better, other_places(session), summary(plan), nullptr);
}

Result<void> print_plan(const Network& network, const SplitPlan& plan, const MachinePlaces& places,
                        PlaceSearches& searches, const Session& session, const SearchLog& log) {
  const Result<PlanReport> report = make_report(network, plan, session.catalogue, places.specs);
  if (!report) return report.error();
  const Better better = [&](Alternatives& beside) { return beside.next_better(plan, searches); };
  return print_all({network, plan.plan, *report, session, log}, better, places, split_summary(plan), &places.specs.gpu);
}

}  // namespace znni
