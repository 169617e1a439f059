// `planner`: assembles the search with the CPU back end, files and the command line.
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "planner/explain.hpp"
#include "planner/explain_json.hpp"
#include "planner/k8s_resources.hpp"
#include "planner/report_page.hpp"
#include "planner/repository.hpp"
#include "planner/session.hpp"
#include "planner/summary.hpp"
#include "planner/text_table.hpp"
#include "primitives/cpu/machine.hpp"
#include "proto/convert/network_file.hpp"
#include "proto/convert/plan_text.hpp"
#include "proto/convert/write_atomically.hpp"

namespace znni {
namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "planner: %s\n", error.message.c_str());
  return exit_code(error.code);
}

Result<void> save(const std::string& path, const Plan& plan) {
  if (Result<void> made = make_parents(path); !made) return made;
  return write_plan(path, plan);
}

// Where this machine falls short of what was asked.
void say_caveats(const Plan& plan, const Session& session) {
  if (interrupted()) warn("interrupted: this is the best plan so far");
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
  Beside(const Network& network, const Session& session)
      : network_(network),
        session_(session),
        progress_(std::cerr, isatty(STDERR_FILENO) == 1),
        costs_(session_costs(session)) {}

  std::string next_better(const Plan& plan) {
    progress_.tell("searching with more memory");
    return znni::next_better(setting(session_.options.strategy), plan.predicted.voxels_per_second);
  }

  StrategyCurves curves(Strategy strategy) {
    const std::string name = strategy == Strategy::cpu ? "cpu" : "baseline";
    StrategyCurves curves{name, {}, {}};
    for (const std::int64_t limit : limits_around(session_.memory_limit)) {
      progress_.tell("report: " + name + " in " + bytes_text(limit));
      for (const CurveSample& sample : by_memory(setting(strategy), {limit})) curves.memory.push_back(sample);
    }
    progress_.tell("report: " + name + " by patch size");
    curves.size = by_size(setting(strategy));
    return curves;
  }

 private:
  CurveSetting setting(Strategy strategy) {
    SearchOptions options = search_options(session_, progress_);
    options.strategy = strategy;
    return {network_, session_.spec, session_.catalogue, *costs_, options};
  }

  const Network& network_;
  const Session& session_;
  Progress progress_;
  std::unique_ptr<CostSource> costs_;
};

Result<void> write_report(const Network& network, const Plan& plan, const PlanReport& report, const SearchLog& log,
                          const std::string& next_better, Beside& beside, const std::string& path) {
  std::vector<StrategyCurves> curves;
  for (const Strategy strategy : {Strategy::cpu, Strategy::baseline}) curves.push_back(beside.curves(strategy));
  if (Result<void> made = make_parents(path); !made) return made;
  return write_atomically(path, report_page(network, plan, report, log, curves, next_better));
}

int print_plan(const Network& network, const Plan& plan, const Session& session, const SearchLog& log) {
  say_caveats(plan, session);
  const PlannerOptions& options = session.options;
  const Result<PlanReport> report = make_report(network, plan, session.catalogue, session.spec);
  if (!report) return fail(report.error());
  std::string reasons;
  if (options.explain || !options.report.empty()) {
    Beside beside(network, session);
    const std::string better = beside.next_better(plan);
    if (options.explain) reasons = explain(network, plan, *report, log);
    if (options.explain && !better.empty()) reasons += "next better\n  " + better + "\n";
    if (!options.report.empty()) {
      const Result<void> written = write_report(network, plan, *report, log, better, beside, options.report);
      if (!written) return fail(written.error());
    }
  }
  if (options.json) {
    std::fputs(reasons.c_str(), stderr);
    std::fputs(explain_json(plan, *report, session.spec).c_str(), stdout);
    return 0;
  }
  if (session.options.k8s_resources) {
    std::fputs(reasons.c_str(), stderr);
    std::fputs(k8s_resources(plan).c_str(), stdout);
    return 0;
  }
  std::fputs(reasons.empty() ? summary(plan).c_str() : reasons.c_str(), stdout);
  return 0;
}

// Over the places of --machine.
int plan_places(const Network& network, const Session& session) {
  const PlannerOptions& options = session.options;
  Result<MachinePlaces> places = places_of(*session.machine);
  if (!places) return fail(places.error().within(options.machine));
  if (options.gpu_memory) places->memory.device = *options.gpu_memory;
  if (options.pinned_memory) places->memory.pinned = *options.pinned_memory;
  Progress progress(std::cerr, isatty(STDERR_FILENO) == 1);
  progress.tell("searching cuts");
  const std::unique_ptr<CostSource> costs = session_costs(session);
  const Result<SplitPlan> plan =
      plan_split(network, session.catalogue, *costs, *places, *options.split, search_options(session, progress));
  if (!plan) return fail(plan.error());
  if (!options.output.empty()) {
    if (const Result<void> saved = save(options.output, plan->plan); !saved) return fail(saved.error());
  }
  say_caveats(plan->plan, session);
  std::fputs(split_summary(*plan).c_str(), stdout);
  return 0;
}

int plan_model(Session& session) {
  const PlannerOptions& options = session.options;
  const Result<LoadedNetwork> loaded = read_network_file(options.model);
  if (!loaded) return fail(loaded.error());
  if (options.split) return plan_places(loaded->network, session);
  SearchLog log;
  const bool is_logged = options.explain || !options.report.empty();
  const Result<Plan> plan = make_plan(loaded->network, session, is_logged ? &log : nullptr);
  if (!plan) return fail(plan.error());
  if (!options.output.empty() && options.command == Command::plan) {
    if (const Result<void> saved = save(options.output, *plan); !saved) return fail(saved.error());
  }
  return print_plan(loaded->network, *plan, session, log);
}

Result<Plan> plan_version(const ModelVersion& version, const std::filesystem::path& plans, Session& session) {
  const Result<LoadedNetwork> loaded = read_network_file(version.file);
  if (!loaded) return loaded.error();
  Result<Plan> plan = make_plan(loaded->network, session, nullptr);
  if (!plan) return plan.error().within(version.file.string());
  if (Result<void> saved = save(plan_path(plans, version), *plan); !saved) return saved.error();
  return plan;
}

// Every model, also after one that failed; the worst exit code counts.
int plan_repository(Session& session) {
  std::filesystem::path plans = session.options.plan_dir;
  if (plans.empty()) {
    const Result<std::filesystem::path> state = state_directory();
    if (!state) return fail(state.error());
    plans = *state / "plans";
  }
  const Result<std::vector<ModelVersion>> models = list_models(session.options.model_repository);
  if (!models) return fail(models.error());
  int worst = 0;
  for (const ModelVersion& version : *models) {
    if (interrupted()) return exit_code(ErrorCode::cancelled);
    const Result<Plan> plan = plan_version(version, plans, session);
    if (!plan) {
      worst = std::max(worst, fail(plan.error()));
      continue;
    }
    std::printf("%s version %s: %s, %s -> %s\n", version.model.c_str(), version.version.c_str(),
                rate_text(plan->predicted.voxels_per_second).c_str(), bytes_text(plan->memory.total()).c_str(),
                plan_path(plans, version).c_str());
    std::fflush(stdout);
  }
  return worst;
}

std::string_view answer_text(PlanFit fit) {
  switch (fit) {
    case PlanFit::runs: return "runs";
    case PlanFit::runs_but_search_space_grew: return "runs, but the search space has grown";
    case PlanFit::does_not_run: return "does not run";
  }
  return "";
}

// With a model, also whether the plan runs for it here.
int show_plan(const PlannerOptions& options) {
  const Result<Plan> plan = read_plan(options.files[0]);
  if (!plan) return fail(plan.error());
  std::fputs(summary(*plan).c_str(), stdout);
  if (options.model.empty()) return 0;
  const Result<LoadedNetwork> loaded = read_network_file(options.model);
  if (!loaded) return fail(loaded.error());
  PlannerOptions own = options;
  own.patience = Patience::model;
  if (!own.threads) own.threads = std::max(1, plan->key.threads);
  const Result<Session> session = open_session(own);
  if (!session) return fail(session.error());
  const PlanCheck answer = check(*plan, loaded->network, session->catalogue, session->spec, session->memory_limit);
  const std::string why = answer.reason.empty() ? "" : ": " + answer.reason;
  std::printf("%s%s\n", std::string(answer_text(answer.fit)).c_str(), why.c_str());
  return answer.fit == PlanFit::does_not_run ? 1 : 0;
}

int diff_plans(const PlannerOptions& options) {
  const Result<Plan> first = read_plan(options.files[0]);
  if (!first) return fail(first.error());
  const Result<Plan> second = read_plan(options.files[1]);
  if (!second) return fail(second.error());
  for (const std::string& line : diff(*first, *second)) std::printf("%s\n", line.c_str());
  return 0;
}

int list_primitives(const Session& session) {
  std::vector<TextRow> rows = {{"name", "version", "device"}};
  for (const Primitive* primitive : session.catalogue.primitives()) {
    rows.push_back({std::string(primitive->name), std::to_string(primitive->version),
                    primitive->device == DeviceKind::cpu ? "cpu" : "gpu"});
  }
  std::fputs(text_table(rows, "").c_str(), stdout);
  return 0;
}

int run(const PlannerOptions& options) {
  if (options.command == Command::show) return show_plan(options);
  if (options.command == Command::diff) return diff_plans(options);
  Result<Session> session = open_session(options);
  if (!session) return fail(session.error());
  if (options.command == Command::primitives) return list_primitives(*session);
  if (options.command == Command::measure && options.model.empty()) {
    const Result<void> done = calibrate_here(*session);
    return done ? 0 : fail(done.error());
  }
  return options.model_repository.empty() ? plan_model(*session) : plan_repository(*session);
}

}  // namespace
}  // namespace znni

int main(int argc, char** argv) {
  znni::hold_signals();
  const auto parsed = znni::parse_options({argv + 1, argv + argc});
  if (const auto* end = std::get_if<znni::EarlyEnd>(&parsed)) {
    if (end->exit_code == 0) {
      std::fputs(end->text.c_str(), stdout);
    } else {
      std::fprintf(stderr, "planner: %s\n", end->text.c_str());
    }
    return end->exit_code;
  }
  return znni::run(std::get<znni::PlannerOptions>(parsed));
}
