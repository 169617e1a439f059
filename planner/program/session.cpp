#include "planner/program/session.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <limits>

#include "planner/base/memory_limit.hpp"
#include "planner/base/repository.hpp"
#include "planner/base/text_table.hpp"
#include "planner/measure/calibration_set.hpp"
#include "planner/measure/measured_search.hpp"
#include "planner/plan/plugins.hpp"
#include "planner/program/command_checks.hpp"
#include "planner/split/socket_search.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/machine.hpp"
#include "proto/convert/base/read_file.hpp"
#include "proto/convert/text/timings_text.hpp"

namespace znni {
namespace {

Result<ReadTimings> read_and_warn(const std::string& path) {
  Result<ReadTimings> read = read_timings(path);
  if (!read) return read.error();
  for (const std::string& warning : read->warnings) warn(warning);
  return read;
}

// Records that were made while the machine was busy mislead.
void warn_of_busy(const Timings& timings, const DeviceSpec& spec, const std::string& path) {
  const auto busy = std::count_if(timings.records().begin(), timings.records().end(), [&](const TimingRecord& record) {
    return record.device == spec.name && record.waited > busy_share;
  });
  if (busy == 0) return;
  warn(std::to_string(busy) + " timings of " + path + " were taken while this machine was busy with other things");
}

Result<void> read_recorded(Session& session) {
  const PlannerOptions& options = session.options;
  if (options.patience == Patience::model || (session.machine && options.timings.empty())) return {};
  session.timings_path = options.timings;
  if (session.timings_path.empty()) {
    const Result<std::filesystem::path> state = state_directory();
    if (!state) return state.error();
    session.timings_path = *state / "timings.pbtxt";
  }
  const Result<ReadTimings> read = read_and_warn(session.timings_path);
  if (!read) return read.error();
  const std::array<DeviceSpec, 2> devices = {session.spec, of_one_socket(session.spec)};
  const Timings own = with_formulas(read->timings, devices, session.catalogue.primitives());
  for (const TimingRecord& record : own.records()) session.timings.insert(record);
  warn_of_busy(read->timings, session.spec, session.timings_path);
  if (options.patience != Patience::measure) return {};
  return make_parents(session.timings_path);
}

// Reads another machine: its device and its records.
Result<void> read_machine(Session& session, std::span<const Primitive* const> known) {
  const std::string& path = session.options.machine;
  // Timings may be missing, and are then none; a machine is not.
  if (::access(path.c_str(), R_OK) != 0) {
    return Error{ErrorCode::not_found, path + ": cannot be read: " + std::strerror(errno)};
  }
  Result<ReadTimings> read = read_and_warn(path);
  if (!read) return read.error();
  if (!read->machine) {
    return Error{ErrorCode::invalid_argument,
                 path + ": no 'machine { ... }' in it; docs/timings.md tells how a machine is described"};
  }
  session.machine = std::move(read->machine);
  const MachineDevice* cpu = find_device(*session.machine, DeviceKind::cpu);
  if (cpu == nullptr) {
    return Error{ErrorCode::unsupported, path + ": the machine has no device of kind cpu; one is needed"};
  }
  session.spec = cpu->spec;
  Result<Timings> whole = complete(read->timings, *session.machine);
  if (!whole) return whole.error().within(path);
  std::vector<DeviceSpec> devices;
  for (const MachineDevice& device : session.machine->devices) devices.push_back(device.spec);
  session.timings = with_formulas(*whole, devices, known);
  Result<RecordedPrimitives> recorded = RecordedPrimitives::make(session.timings, *session.machine, known);
  if (!recorded) return recorded.error().within(path);
  session.recorded = *std::move(recorded);
  const std::int64_t host = cpu->bytes[static_cast<std::size_t>(MemorySpace::host)];
  if (!session.options.memory && host <= 0) {
    return Error{ErrorCode::invalid_argument,
                 path + ": device '" + cpu->spec.name + "' names no host memory: give --mem"};
  }
  session.memory_limit = session.options.memory.value_or(host / 5 * 4);
  return {};
}

// Returns the limit of memory. --mem may exceed this machine: the plan is then for another one.
Result<std::int64_t> memory_limit(const PlannerOptions& options) {
  if (options.memory) return *options.memory;
  const Result<MemoryLimit> limit =
      choose_memory_limit(std::nullopt, std::getenv("ZNNI_MEM"), {cpu::default_memory_budget(), cpu::memory_limit()});
  if (!limit) return limit.error();
  if (!limit->warning.empty()) warn(limit->warning);
  return limit->bytes;
}

// Opens the plug-ins that are named, and the GPU's own if a plan for this machine's GPU is asked for.
Result<Plugins> open_named(const PlannerOptions& options) {
  const std::vector<std::filesystem::path> files(options.plugins.begin(), options.plugins.end());
  Result<Plugins> plugins = open_plugins(files, options.split && options.machine.empty());
  return plugins ? plugins : plugins.error().within("--plugin");
}

Result<void> find_gpu(const Plugins& plugins, Session& session) {
  const PlannerOptions& options = session.options;
  if (!options.split && plugins.gpu == nullptr) return {};
  const std::int64_t pinned = options.pinned_memory.value_or(session.memory_limit);
  Result<GpuOffer> gpu = offer_gpu(plugins, options.gpu_memory, pinned);
  if (!gpu) return gpu.error().within("no GPU to plan for (--machine FILE describes another machine's)");
  session.gpu = *std::move(gpu);
  return {};
}

// Fails if a plan for another machine's GPU was asked for, and nothing tells what its layers take.
Result<void> check_gpu_primitives(const Session& session) {
  if (!session.options.split || session.options.machine.empty()) return {};
  const std::span<const Primitive* const> all = session.catalogue.primitives();
  const bool known = std::any_of(all.begin(), all.end(),
                                 [](const Primitive* primitive) { return primitive->device == DeviceKind::gpu; });
  if (known) return {};
  return Error{ErrorCode::invalid_argument,
               session.options.machine +
                   ": no record is of a primitive of the GPU: add some (docs/timings.md), or give " +
                   "--plugin libznni_cuda.so to have this build's predicted by their formulas"};
}

Result<std::vector<RunRecord>> read_measured(const std::vector<std::string>& files) {
  std::vector<RunRecord> runs;
  for (const std::string& file : files) {
    const Result<std::string> text = read_file(file, max_text_bytes);
    if (!text) return text.error().within("--measured");
    Result<RunRecord> run = parse_run(*text);
    if (!run) return run.error().within("--measured: " + file);
    runs.push_back(*std::move(run));
  }
  return runs;
}

MeasureOptions measure_options(const Session& session, const std::function<bool()>& stop) {
  MeasureOptions measure;
  measure.time_limit = session.options.time_limit;
  measure.memory_limit = std::min(session.memory_limit, cpu::memory_available() / 10 * 9);
  measure.stop = stop;
  measure.in_child = true;
  measure.busy_again = session.options.command == Command::measure;
  return measure;
}

OpenDevice device_opener(const DeviceSpec& spec) {
  return [&spec](std::int64_t bytes) { return cpu::backend().open(spec, bytes, 0, 0); };
}

OnRecord record_keeper(const Session& session) {
  return [&session](const TimingRecord& record) { return append_timing(session.timings_path, record); };
}

void say_measured(const Measurer& measurer, const std::string& path) {
  warn(std::to_string(measurer.records_made()) + " new timings in " + path);
  if (measurer.busy_records() > 0) {
    warn(std::to_string(measurer.busy_records()) +
         " of them were taken while this machine was busy with other things; `planner measure` takes them again");
  }
  for (const std::string& failure : measurer.failures()) warn("not measured: " + failure);
}

Result<Plan> search_measured(const Network& network, const DeviceSpec& spec, Session& session,
                             const SearchOptions& options, Progress& progress, SearchLog* log) {
  MeasureOptions measure = measure_options(session, options.stop);
  if (session.spec.sockets > 1) measure.time_limit /= 2;  // one search for the machine, one for a socket
  Measurer measurer(device_opener(spec), spec, session.timings, measure, record_keeper(session));
  Result<Plan> plan = measured_search(
      network, spec, session.catalogue, measurer, options, [&](const std::string& what) { progress.tell(what); }, log);
  say_measured(measurer, session.timings_path);
  return plan;
}

std::string percent(double share) { return fixed_text(100 * share, 1) + " %"; }

void print_residuals(const Session& session) {
  std::vector<TextRow> rows = {{"primitive", "rows", "takes", "formula: median", "90 %", "fitted: median", "90 %"}};
  for (const Calibration::Residuals& own : calibrate(session.timings, session.spec).residuals()) {
    rows.push_back({own.primitive, std::to_string(own.rows), fixed_text(own.factor, 2) + " x",
                    percent(own.before_median), percent(own.before_ninth), percent(own.median), percent(own.ninth)});
  }
  std::printf(
      "what recorded times say of the formulas: how much longer layers take, and how far off predictions are,\n"
      "by the formulas alone and fitted, each row predicted from the others\n%s",
      text_table(rows).c_str());
}

// Returns the GPU planned for; nullptr if there is none.
const DeviceSpec* gpu_of(const Session& session) {
  if (!session.options.split) return nullptr;
  if (session.gpu) return &session.gpu->spec;
  const MachineDevice* device = session.machine ? find_device(*session.machine, DeviceKind::gpu) : nullptr;
  return device == nullptr ? nullptr : &device->spec;
}

}  // namespace

void warn(const std::string& line) { std::fprintf(stderr, "planner: %s\n", line.c_str()); }

void warn_of_notes(const Session& session) {
  for (const Backend* backend : session.backends) {
    if (backend->notes == nullptr) continue;
    for (const std::string& note : backend->notes()) warn(note);
  }
}

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

Result<Session> open_session(const PlannerOptions& options) {
  Session session;
  session.options = options;
  const Result<Plugins> plugins = open_named(options);
  if (!plugins) return plugins.error();
  session.backends = plugins->backends;
  std::vector<const Backend*> backends = {&cpu::backend()};
  backends.insert(backends.end(), plugins->backends.begin(), plugins->backends.end());
  const Result<Catalogue> own = Catalogue::make(backends, {}, {}, Precision::bf16);
  if (!own) return own.error();
  if (options.machine.empty()) {
    session.spec = cpu::describe_cpu(options.threads.value_or(cpu::default_threads()));
    const Result<std::int64_t> limit = memory_limit(options);
    if (!limit) return limit.error();
    session.memory_limit = *limit;
    if (Result<void> found = find_gpu(*plugins, session); !found) return found.error();
  } else {
    if (Result<void> read = read_machine(session, own->primitives()); !read) return read.error();
    backends.push_back(&session.recorded.backend());
  }
  if (Result<void> able = check_precision(options, session.spec, gpu_of(session)); !able) return able.error();
  Result<Catalogue> catalogue = Catalogue::make(backends, options.enable, options.disable, options.precision);
  if (!catalogue) return catalogue.error();
  session.catalogue = *std::move(catalogue);
  if (Result<void> known = check_gpu_primitives(session); !known) return known.error();
  if (Result<void> read = read_recorded(session); !read) return read.error();
  Result<std::vector<RunRecord>> measured = read_measured(options.measured);
  if (!measured) return measured.error();
  session.measured = *std::move(measured);
  return session;
}

std::unique_ptr<CostSource> session_costs(const Session& session) {
  return session.recorded.costs(recorded_costs(session.timings, session.spec));
}

Result<MachinePlaces> session_places(const Session& session) {
  const PlannerOptions& options = session.options;
  if (!session.machine) {
    return MachinePlaces{{session.spec, session.gpu->spec},
                         {session.memory_limit, session.gpu->pinned_bytes, session.gpu->device_bytes}};
  }
  Result<MachinePlaces> places = places_of(*session.machine);
  if (!places) return places.error().within(options.machine);
  if (options.gpu_memory) places->memory.device = *options.gpu_memory;
  if (options.pinned_memory) places->memory.pinned = *options.pinned_memory;
  return places;
}

namespace {

// Keeps the progress line moving while it is asked, and looks for a signal once a millisecond at most: a search asks
// millions of times, and the system's answer takes longer than the clock's.
class StopQuestion {
 public:
  explicit StopQuestion(Progress& progress) : progress_(progress) {}
  bool ask() {
    progress_.tick();
    const auto now = std::chrono::steady_clock::now();
    if (stop_ || now < next_) return stop_;
    next_ = now + std::chrono::milliseconds(1);
    return stop_ = interrupted();
  }

 private:
  Progress& progress_;
  std::chrono::steady_clock::time_point next_;
  bool stop_ = false;
};

std::function<bool()> stop_with(Progress& progress) {
  return [question = std::make_shared<StopQuestion>(progress)] { return question->ask(); };
}

}  // namespace

SearchOptions search_options(const Network& network, const Session& session, Progress& progress) {
  SearchOptions options;
  options.memory_limit = session.memory_limit;
  options.strategy = session.options.strategy;
  if (session.options.volume) options.volume = framed(network, *session.options.volume);
  options.precision = session.options.precision;
  options.force = session.options.force;
  options.pins = session.options.pins;
  const SearchBounds& bounds = session.options.bounds;
  options.max_extent = bounds.max_extent.value_or(options.max_extent);
  options.max_S = bounds.max_S.value_or(options.max_S);
  options.every_extent = bounds.every_extent;
  options.max_patches = bounds.max_patches.value_or(options.max_patches);
  options.max_through_host_ram = bounds.host_ram_patches.value_or(options.max_through_host_ram);
  if (!session.options.explain) options.logged_share = 0.98;  // few patches: --explain takes several times as long
  options.lifts_extent = !bounds.max_extent && !bounds.every_extent && !options.pins.patch;
  // Threads of this machine, also if the plan is for another one.
  options.threads = std::min(cpu::default_threads(), session.options.threads.value_or(cpu::default_threads()));
  options.stop = stop_with(progress);
  return options;
}

Result<Plan> make_plan(const Network& network, Session& session, SearchLog* log) {
  Progress progress(std::cerr, isatty(STDERR_FILENO) == 1);
  const SearchOptions options = search_options(network, session, progress);
  progress.tell("searching patches");
  const SearchOn on = [&](const DeviceSpec& spec, const SearchOptions& own, SearchLog* own_log) {
    if (session.options.patience == Patience::measure) {
      return search_measured(network, spec, session, own, progress, own_log);
    }
    const std::unique_ptr<CostSource> costs = session.recorded.costs(recorded_costs(session.timings, spec));
    return search(network, spec, session.catalogue, *costs, own, own_log);
  };
  return search_sockets(network, session.spec, options, on, log);
}

PlaceSearches::PlaceSearches(const Network& network, const Session& session, const PlaceSpecs& specs)
    : progress_(std::cerr, isatty(STDERR_FILENO) == 1),
      costs_(session_costs(session)),
      searches_(network, session.catalogue, *costs_, specs, *session.options.split,
                search_options(network, session, progress_)) {}

Result<SplitPlan> PlaceSearches::within(const std::string& what, std::int64_t limit, const SpaceBytes& memory,
                                        SearchLog* log) {
  progress_.tell(what);
  Result<SplitPlan> plan = searches_.within(limit, memory, log);
  progress_.wipe();
  return plan;
}

Result<SplitPlan> PlaceSearches::first_within(const std::string& what, std::int64_t limit, const SpaceBytes& memory) {
  progress_.tell(what);
  Result<SplitPlan> plan = searches_.first_within(limit, memory);
  progress_.wipe();
  return plan;
}

Result<void> calibrate_here(Session& session) {
  {
    Progress progress(std::cerr, isatty(STDERR_FILENO) == 1);
    const std::function<bool()> stop = stop_with(progress);
    MeasureOptions measure = measure_options(session, stop);
    measure.skip_ratio = std::numeric_limits<double>::infinity();  // the set has what is worth timing
    measure.min_samples = 3;  // also of slow ways, whose records correct others: one alone may have been disturbed
    measure.enough = 0.1;
    measure.long_run = 0.15;
    Measurer measurer(device_opener(session.spec), session.spec, session.timings, measure, record_keeper(session));
    const std::unique_ptr<CostSource> costs = measurer.costs();
    const std::vector<CalibrationTask> tasks = calibration_set(session.catalogue, session.spec, *costs);
    for (std::size_t i = 0; i < tasks.size() && !measurer.time_is_up(); ++i) {
      progress.tell(std::to_string(i + 1) + " of " + std::to_string(tasks.size()) + ": " + to_string(tasks[i].problem));
      if (Result<void> done = measurer.measure(tasks[i].problem, tasks[i].ways); !done) return done;
    }
    say_measured(measurer, session.timings_path);
    if (measurer.time_is_up() && !interrupted()) warn("the time limit ended it; another run goes on from here");
  }
  if (interrupted()) warn("interrupted: what was measured is kept");
  print_residuals(session);
  return {};
}

}  // namespace znni
