// `planner`: assembles the search with the CPU back end, files and the command line.
#include <cstdio>

#include "planner/base/repository.hpp"
#include "planner/base/text_table.hpp"
#include "planner/layers/prediction.hpp"
#include "planner/plan/kept_plans.hpp"
#include "planner/plan/summary.hpp"
#include "planner/program/check_command.hpp"
#include "planner/program/curve_command.hpp"
#include "planner/program/draw_command.hpp"
#include "planner/program/plan_output.hpp"
#include "planner/program/price_command.hpp"
#include "planner/program/session.hpp"
#include "planner/program/train_command.hpp"
#include "primitives/core/version.hpp"
#include "primitives/cpu/device/openmp_waiting.hpp"
#include "primitives/cpu/fft/fft_1d.hpp"
#include "proto/convert/configured_network.hpp"
#include "proto/convert/network_file.hpp"
#include "proto/convert/text/model_config.hpp"
#include "proto/convert/text/plan_text.hpp"

namespace znni {
namespace {

int fail(const Error& error) {
  std::fprintf(stderr, "planner: %s\n", error.message.c_str());
  return exit_code(error.code);
}

int ended(const Result<void>& done) { return done ? 0 : fail(done.error()); }

Result<void> save(const std::string& path, const Plan& plan) {
  if (Result<void> made = make_parents(path); !made) return made;
  return write_plan(path, plan);
}

// Plans over CPU and GPU.
int plan_places(const Network& network, const Session& session) {
  const PlannerOptions& options = session.options;
  const Result<MachinePlaces> places = session_places(session);
  if (!places) return fail(places.error());
  SearchLog log;
  PlaceSearches searches(network, session, places->specs);
  const Result<SplitPlan> plan = searches.within(searching_cuts, session.memory_limit, places->memory, &log);
  warn_of_notes(session);
  if (!plan) return fail(plan.error());
  if (!options.output.empty()) {
    if (const Result<void> saved = save(options.output, plan->plan); !saved) return fail(saved.error());
  }
  return ended(print_plan(network, *plan, *places, searches, session, log));
}

int plan_model(Session& session) {
  const PlannerOptions& options = session.options;
  const NetworkReading reading = {saturated, options.outputs, options.weights};
  const Result<LoadedNetwork> loaded =
      options.train ? read_network_to_train(options.model, reading) : read_network_file(options.model, reading);
  if (!loaded) return fail(loaded.error());
  if (options.train) return ended(train_command(loaded->network, session));
  if (options.curve) return ended(curve_command(loaded->network, session));
  if (options.split) return plan_places(loaded->network, session);
  SearchLog log;
  const bool is_logged = options.explain || !options.report.empty();
  const Result<Plan> plan = make_plan(loaded->network, session, is_logged ? &log : nullptr);
  if (!plan) return fail(plan.error());
  if (!options.output.empty() && options.command == Command::plan) {
    if (const Result<void> saved = save(options.output, *plan); !saved) return fail(saved.error());
  }
  return ended(print_plan(loaded->network, *plan, session, log));
}

// Returns the network as the daemon has it, with what the model's configuration says of it.
Result<LoadedNetwork> read_version(const ModelVersion& version) {
  const Result<ModelSettings> settings = read_model_config(version.config);
  if (!settings && settings.error().code == ErrorCode::not_found) return read_network_file(version.file);
  if (!settings) return settings.error();
  Result<LoadedNetwork> loaded = read_network_file(version.file, {saturated, settings->outputs});
  if (!loaded) return loaded;
  for (const std::string& warning : settings->warnings) warn(warning);
  Result<LoadedNetwork> whole = configured(*std::move(loaded), *settings);
  return whole ? std::move(whole) : whole.error().within(version.config.string());
}

// Returns in what a plan was asked for in another way than one for the same network, machine and memory; "" if in
// nothing.
std::string other_wishes(const Plan& before, const Plan& now) {
  std::string text;
  const auto add = [&text](bool differs, const char* what) {
    if (differs) text += (text.empty() ? "" : ", ") + std::string(what);
  };
  add(before.key.search_space != now.key.search_space, "primitives");
  add(before.key.volume != now.key.volume, "volume");
  add(before.key.pins != now.key.pins, "pins");
  add(before.key.strategy != now.key.strategy, "strategy");
  add(before.key.precision != now.key.precision, "precision");
  const bool was_measured = before.predicted.basis == Basis::measured;
  add(was_measured && now.predicted.basis != Basis::measured, "measured times");
  return text;
}

// Warns if the file holds a plan that was asked for in another way: by the user for a model of another repository, too.
void warn_of_replaced(const std::filesystem::path& file, const Plan& now) {
  const Result<Plan> before = read_plan(file.string());
  const std::string wishes = before ? other_wishes(*before, now) : "";
  if (!wishes.empty()) warn(file.string() + ": replaces a plan of other " + wishes);
}

// Warns of plans that may keep the daemon from taking the new one, `file`.
void warn_of_others(const std::filesystem::path& plans, const ModelVersion& version, const Network& network,
                    const Session& session) {
  std::error_code ignored;
  const std::filesystem::path beside = version.file.parent_path() / "plan.pbtxt";
  if (std::filesystem::exists(beside, ignored)) {
    warn(beside.string() + " lies beside the model, and znnid takes it first: remove it to have the new plan used");
  }
  const std::filesystem::path named = named_plan_file(plans, version.model, version.version);
  if (std::filesystem::exists(named, ignored)) {
    warn(named.string() + " is of an older version, and znnid takes the new plan first: remove it");
  }
  const auto listed = planner_plan_files(plans, network, session.spec, session.memory_limit);
  if (!listed) return warn(listed.error().message);
  const std::filesystem::path own = planner_plan_file(plans, network, session.spec, session.memory_limit);
  for (const std::filesystem::path& other : *listed) {
    if (other == own) continue;
    warn(other.string() +
         " is there, too; of such plans znnid takes that for the most memory within what the model may take, else that "
         "for the least memory above it");
  }
}

// Plans a model and keeps the plan where the daemon looks for it; prints one line.
Result<void> plan_version(const ModelVersion& version, const std::filesystem::path& plans, Session& session) {
  const Result<LoadedNetwork> loaded = read_version(version);
  if (!loaded) return loaded.error();
  const std::filesystem::path file = planner_plan_file(plans, loaded->network, session.spec, session.memory_limit);
  if (Result<void> writable = check_place(file); !writable) return writable;
  const Result<Plan> plan = make_plan(loaded->network, session, nullptr);
  if (!plan) return plan.error().within(version.file.string());
  warn_of_replaced(file, *plan);
  if (Result<void> saved = save(file, *plan); !saved) return saved;
  std::printf("%s version %s: %s, %s -> %s\n", version.model.c_str(), version.version.c_str(),
              predicted_rate_text(*plan).c_str(), bytes_text(plan->memory.total()).c_str(), file.c_str());
  std::fflush(stdout);
  warn_of_others(plans, version, loaded->network, session);
  return {};
}

// Plans every model, also after one that failed; returns the worst exit code.
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
    const Result<void> planned = plan_version(version, plans, session);
    if (!planned) worst = std::max(worst, fail(planned.error()));
  }
  return worst;
}

int price_machines(const PlannerOptions& options) {
  const Result<LoadedNetwork> loaded = read_network_file(options.model, {saturated, options.outputs, options.weights});
  return loaded ? ended(price_command(loaded->network, options)) : fail(loaded.error());
}

std::string_view answer_text(PlanFit fit) {
  switch (fit) {
    case PlanFit::runs: return "runs";
    case PlanFit::runs_but_search_space_grew: return "runs, but the search space has grown";
    case PlanFit::does_not_run: return "does not run";
  }
  return "";
}

// Predicts a plan that runs from the timings of --timings; with --output as a plan file. If they cannot predict it
// again, it prints a note, or fails if the file is wanted.
Result<void> tell_again(const Plan& plan, const Network& network, const Session& session) {
  if (session.timings.records().empty()) {
    return Error{ErrorCode::invalid_argument, session.timings_path + ": no timings in it to predict from"};
  }
  // The same costs as a search has.
  const auto costs = [&session](const DeviceSpec& spec) {
    return session.recorded.costs(recorded_costs(session.timings, spec));
  };
  const Result<Plan> again = predict_again(plan, network, session.catalogue, session.spec, costs);
  const bool is_note = !again && again.error().code == ErrorCode::unsupported && session.options.output.empty();
  if (is_note) warn(again.error().message);
  if (!again) return is_note ? Result<void>() : again.error();
  const Prediction& now = again->predicted;
  std::printf("by %s: %s, %s a patch (%s%s)\n", session.timings_path.c_str(), predicted_rate_text(*again).c_str(),
              seconds_text(now.seconds).c_str(), std::string(to_string(now.basis)).c_str(),
              error_text(now.error).c_str());
  return session.options.output.empty() ? Result<void>() : save(session.options.output, *again);
}

// Prints a plan; with a model also whether the plan runs for it here, and with timings also what they predict of it.
int show_plan(const PlannerOptions& options) {
  const Result<Plan> plan = read_plan(options.files[0]);
  if (!plan) return fail(plan.error());
  std::fputs(summary(*plan).c_str(), stdout);
  if (options.model.empty()) return 0;
  const Result<LoadedNetwork> loaded = read_network_file(options.model, {saturated, options.outputs, options.weights});
  if (!loaded) return fail(loaded.error());
  PlannerOptions own = options;
  if (own.timings.empty()) own.patience = Patience::model;
  if (!own.threads) own.threads = std::max(1, plan->key.threads);
  own.precision = plan->key.precision;
  const Result<Session> session = open_session(own);
  if (!session) return fail(session.error());
  const PlanCheck answer = check(*plan, loaded->network, session->catalogue, session->spec, session->memory_limit,
                                 session->gpu ? &*session->gpu : nullptr);
  warn_of_notes(*session);
  const std::string why = answer.reason.empty() ? "" : ": " + answer.reason;
  std::printf("%s%s\n", std::string(answer_text(answer.fit)).c_str(), why.c_str());
  if (answer.fit == PlanFit::does_not_run) return 1;
  return ended(own.timings.empty() ? Result<void>() : tell_again(*plan, loaded->network, *session));
}

int diff_plans(const PlannerOptions& options) {
  const Result<Plan> first = read_plan(options.files[0]);
  if (!first) return fail(first.error());
  const Result<Plan> second = read_plan(options.files[1]);
  if (!second) return fail(second.error());
  for (const std::string& line : diff(*first, *second)) std::printf("%s\n", line.c_str());
  return 0;
}

int list_primitives(PlannerOptions options) {
  options.precision = Precision::bf16;  // of every precision
  const Result<Session> session = open_session(options);
  if (!session) return fail(session.error());
  std::vector<TextRow> rows = {{"name", "version", "device"}};
  for (const Primitive* primitive : session->catalogue.primitives()) {
    rows.push_back({std::string(primitive->name), std::to_string(primitive->version),
                    primitive->device == DeviceKind::cpu ? "cpu" : "gpu"});
  }
  std::fputs(text_table(rows, "").c_str(), stdout);
  return 0;
}

int check_network(const PlannerOptions& options) {
  const Result<bool> runs = check_command(options);
  if (!runs) return fail(runs.error());
  return *runs ? 0 : exit_code(ErrorCode::unsupported);
}

// Fails now if a file cannot be written that is written at the end.
Result<void> check_outputs(const PlannerOptions& options) {
  const bool folder = options.command == Command::draw;
  for (const std::string& path : {folder ? options.output + "/chosen.pbtxt" : options.output, options.report}) {
    if (path.empty()) continue;
    if (Result<void> writable = check_writable(path); !writable) return writable;
  }
  return {};
}

int run(const PlannerOptions& options) {
  if (options.command == Command::check) return check_network(options);
  if (options.command == Command::show) return show_plan(options);
  if (options.command == Command::diff) return diff_plans(options);
  if (options.command == Command::primitives) return list_primitives(options);
  if (!options.priced.empty()) return price_machines(options);
  if (const Result<void> writable = check_outputs(options); !writable) return fail(writable.error());
  Result<Session> session = open_session(options);
  if (!session) return fail(session.error());
  if (options.command == Command::draw) return ended(draw_command(*session));
  if (options.command == Command::measure && options.model.empty()) return ended(calibrate_here(*session));
  return options.model_repository.empty() ? plan_model(*session) : plan_repository(*session);
}

}  // namespace

int run_planner(std::vector<std::string> arguments) {
  const auto parsed = parse_options(std::move(arguments), version_text("planner", cpu::fft_1d_notice()));
  const auto* end = std::get_if<EarlyEnd>(&parsed);
  if (end == nullptr) return run(std::get<PlannerOptions>(parsed));
  if (end->exit_code == 0) {
    std::fputs(end->text.c_str(), stdout);
  } else {
    std::fprintf(stderr, "planner: %s\n", end->text.c_str());
  }
  return end->exit_code;
}

}  // namespace znni

int main(int argc, char** argv) {
  znni::cpu::let_openmp_sleep(argv);
  znni::hold_signals();
  return znni::run_planner({argv + 1, argv + argc});
}
