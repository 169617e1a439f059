// `planner`: assembles the search with the CPU back end, files and the command line.
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "planner/catalogue.hpp"
#include "planner/explain.hpp"
#include "planner/explain_json.hpp"
#include "planner/k8s_resources.hpp"
#include "planner/measured_search.hpp"
#include "planner/memory_limit.hpp"
#include "planner/options.hpp"
#include "planner/progress.hpp"
#include "planner/repository.hpp"
#include "planner/summary.hpp"
#include "planner/text_table.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/machine.hpp"
#include "proto/convert/network_file.hpp"
#include "proto/convert/plan_text.hpp"
#include "proto/convert/timings_text.hpp"

namespace znni {
namespace {

// Everything a search needs, read and checked once.
struct Session {
  PlannerOptions options;
  DeviceSpec spec;
  Catalogue catalogue;
  std::int64_t memory_limit = 0;
  std::string timings_path;
  Timings timings;
};

int fail(const Error& error) {
  std::fprintf(stderr, "planner: %s\n", error.message.c_str());
  return exit_code(error.code);
}

void warn(const std::string& line) { std::fprintf(stderr, "planner: %s\n", line.c_str()); }

// SIGINT and SIGTERM are held back and asked for, so that no handler is needed and no file is left half written.
void hold_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

bool interrupted() {
  sigset_t signals;
  sigemptyset(&signals);
  sigpending(&signals);
  return sigismember(&signals, SIGINT) == 1 || sigismember(&signals, SIGTERM) == 1;
}

// --mem may exceed this machine: the plan is for another one then.
Result<std::int64_t> memory_limit(const PlannerOptions& options) {
  if (options.memory) return *options.memory;
  const Result<MemoryLimit> limit =
      choose_memory_limit(std::nullopt, std::getenv("ZNNI_MEM"), {cpu::default_memory_budget(), cpu::memory_limit()});
  if (!limit) return limit.error();
  if (!limit->warning.empty()) warn(limit->warning);
  return limit->bytes;
}

Result<void> read_recorded(Session& session) {
  const PlannerOptions& options = session.options;
  if (options.patience == Patience::model) return {};
  session.timings_path = options.timings;
  if (session.timings_path.empty()) {
    const Result<std::filesystem::path> state = state_directory();
    if (!state) return state.error();
    session.timings_path = *state / "timings.pbtxt";
  }
  Result<ReadTimings> read = read_timings(session.timings_path);
  if (!read) return read.error();
  for (const std::string& warning : read->warnings) warn(warning);
  session.timings = std::move(read->timings);
  if (options.patience != Patience::measure) return {};
  return make_parents(session.timings_path);
}

Result<Session> open_session(const PlannerOptions& options) {
  Session session;
  session.options = options;
  session.spec = cpu::describe_cpu(options.threads.value_or(cpu::default_threads()));
  const std::array<const Backend*, 1> backends = {&cpu::backend()};
  Result<Catalogue> catalogue = Catalogue::make(backends, options.enable, options.disable);
  if (!catalogue) return catalogue.error();
  session.catalogue = *std::move(catalogue);
  const Result<std::int64_t> limit = memory_limit(options);
  if (!limit) return limit.error();
  session.memory_limit = *limit;
  if (Result<void> read = read_recorded(session); !read) return read.error();
  return session;
}

SearchOptions search_options(const Session& session, Progress& progress) {
  SearchOptions options;
  options.memory_limit = session.memory_limit;
  options.strategy = session.options.strategy;
  options.volume = session.options.volume;
  options.force = session.options.force;
  progress.tell("searching patches");
  options.stop = [&progress] {
    progress.tick();
    return interrupted();
  };
  return options;
}

Result<Plan> search_measured(const Network& network, Session& session, const SearchOptions& options, Progress& progress,
                             SearchLog* log) {
  MeasureOptions measure;
  measure.time_limit = session.options.time_limit;
  measure.memory_limit = std::min(session.memory_limit, cpu::memory_available() / 10 * 9);
  measure.stop = options.stop;
  const auto open = [&](std::int64_t bytes) { return cpu::backend().open(session.spec, bytes, 0, 0); };
  const auto keep = [&](const TimingRecord& record) { return append_timing(session.timings_path, record); };
  Measurer measurer(open, session.spec, session.timings, measure, keep);
  Result<Plan> plan = measured_search(
      network, session.spec, session.catalogue, measurer, options,
      [&](const std::string& what) { progress.tell(what); }, log);
  warn(std::to_string(measurer.records_made()) + " new timings in " + session.timings_path);
  return plan;
}

Result<Plan> make_plan(const Network& network, Session& session, SearchLog* log) {
  Progress progress(std::cerr, isatty(STDERR_FILENO) == 1);
  const SearchOptions options = search_options(session, progress);
  if (session.options.patience == Patience::measure) {
    return search_measured(network, session, options, progress, log);
  }
  const std::unique_ptr<CostSource> costs = recorded_costs(session.timings, session.spec);
  return search(network, session.spec, session.catalogue, *costs, options, log);
}

Result<void> save(const std::string& path, const Plan& plan) {
  if (Result<void> made = make_parents(path); !made) return made;
  return write_plan(path, plan);
}

// Where this machine falls short of what was asked.
void say_caveats(const Plan& plan) {
  if (interrupted()) warn("interrupted: this is the best plan so far");
  const std::int64_t here = cpu::memory_limit();
  if (plan.memory.total() > here) {
    warn("the plan needs " + bytes_text(plan.memory.total()) + ", this machine has " + bytes_text(here) +
         ": the plan is predicted, it cannot run here");
  } else if (plan.key.memory_limit > here) {
    warn("--mem is more than the " + bytes_text(here) + " of this machine");
  }
}

int print_plan(const Network& network, const Plan& plan, const Session& session, const SearchLog& log) {
  say_caveats(plan);
  const Result<PlanReport> report = make_report(network, plan, session.catalogue, session.spec);
  if (!report) return fail(report.error());
  const std::string reasons = session.options.explain ? explain(network, plan, *report, log) : "";
  if (session.options.json) {
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

int plan_model(Session& session) {
  const PlannerOptions& options = session.options;
  const Result<LoadedNetwork> loaded = read_network_file(options.model);
  if (!loaded) return fail(loaded.error());
  SearchLog log;
  const Result<Plan> plan = make_plan(loaded->network, session, options.explain ? &log : nullptr);
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

int show_plan(const PlannerOptions& options) {
  const Result<Plan> plan = read_plan(options.files[0]);
  if (!plan) return fail(plan.error());
  std::fputs(summary(*plan).c_str(), stdout);
  return 0;
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
