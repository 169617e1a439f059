#include "planner/measure/measured.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "planner/measure/thread_times.hpp"
#include "primitives/core/clock_time.hpp"

namespace znni {
namespace {

// Messages of a child about a way, or about itself if it is broken.
namespace told {
enum Words { preparing, running, sampled, threads, failing, broken };
}  // namespace told

constexpr Seconds no_limit = 0;
constexpr Seconds min_patience = 5;
// A run that is under way when time is up may end in so many seconds.
constexpr Seconds grace = 10;

// Returns bytes for libraries, stacks and plans of transforms beside the budget of the device.
std::int64_t child_overhead(int threads) { return (std::int64_t{512} << 20) + threads * (std::int64_t{32} << 20); }

Seconds seconds_to(std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - std::chrono::steady_clock::now()).count();
}

std::string key(const Primitive& primitive, const Estimate& estimate, const LayerProblem& problem) {
  return std::string(primitive.name) + "|" + to_string(estimate.variant) + "|" + to_string(estimate.in) + "|" +
         to_string(estimate.out) + "|" + to_string(problem);
}

// Returns the persistent bytes, each buffer aligned.
std::int64_t kept_bytes(const Way& way) {
  const auto buffers = static_cast<std::int64_t>(way.estimate.memory.size());
  return add(persistent_bytes(way.estimate.memory), mul(buffers + 1, buffer_alignment));
}

std::int64_t bytes_needed(const Way& way) { return add(pack(way.estimate.memory).bytes, kept_bytes(way)); }

// Brings every page in, so that the first run does not pay for it.
void prefault(const Reservation& block, Executor& executor) {
  constexpr std::int64_t page = 4096;
  constexpr std::int64_t piece = 256 * page;
  executor.parallel_for(div_up(block.bytes(), piece), [&](std::int64_t index, int) {
    const std::int64_t end = std::min(block.bytes(), (index + 1) * piece);
    for (std::int64_t at = index * piece; at < end; at += page) block.data()[at] = std::byte{1};
  });
}

// Factor on times that were not measured: so a plan of measured times is not given up for a promise within the
// noise, and searching and measuring in turns comes to an end.
constexpr double caution = 1.05;

// Factor on the time of a way that did not run: it is chosen only if there is no other.
constexpr double of_failed = 1e6;

class MeasuredCosts final : public CostSource {
 public:
  MeasuredCosts(std::unique_ptr<CostSource> recorded, std::set<std::string> fresh, std::set<std::string> failed)
      : recorded_(std::move(recorded)), fresh_(std::move(fresh)), failed_(std::move(failed)) {}

  Cost cost(const LayerProblem& problem, const Primitive& primitive, const Estimate& estimate) override {
    Cost cost = recorded_->cost(problem, primitive, estimate);
    if (cost.basis == Basis::recorded && fresh_.contains(key(primitive, estimate, problem))) {
      cost.basis = Basis::measured;
    }
    if (cost.basis == Basis::model) cost.seconds *= caution;
    if (!failed_.empty() && failed_.contains(key(primitive, estimate, problem))) cost.seconds *= of_failed;
    return cost;
  }

 private:
  std::unique_ptr<CostSource> recorded_;
  std::set<std::string> fresh_;
  std::set<std::string> failed_;
};

}  // namespace

// A way while it is measured.
struct Measurer::Trial {
  const Way* way = nullptr;
  std::vector<Seconds> samples;
  ThreadTimes threads;  // of its runs
  std::string failure;  // why it does not run
  bool warm = false;
  bool over = false;  // enough samples, too slow, or failed

  [[nodiscard]] Seconds mean() const {
    return samples.empty() ? std::numeric_limits<double>::infinity() : robust_mean(samples);
  }
  // Notes that the way failed; its samples say nothing then.
  void fail(std::string why) {
    failure = std::move(why);
    samples.clear();
    over = true;
  }
  // Returns the time that a run may take before it is given up.
  [[nodiscard]] Seconds patience(Seconds best) const {
    return min_patience + (std::isfinite(best) ? 10 * best : 100 * way->expected);
  }
};

Measurer::Measurer(OpenDevice open, const DeviceSpec& spec, Timings& timings, MeasureOptions options,
                   OnRecord on_record)
    : open_(std::move(open)),
      spec_(spec),
      timings_(timings),
      options_(std::move(options)),
      on_record_(std::move(on_record)),
      end_(std::chrono::steady_clock::now() + clock_time(options_.time_limit)) {}

Measurer::~Measurer() = default;

Seconds Measurer::time_left() const {
  if (options_.stop && options_.stop()) return 0;
  return seconds_to(end_);
}

bool Measurer::measurable(const LayerProblem& problem, const Way& way) const {
  const std::string name = key(*way.primitive, way.estimate, problem);
  if (failed_.contains(name) || bytes_needed(way) > options_.memory_limit) return false;
  const TimingRecord* known = timings_.find(*way.primitive, way.estimate, problem, spec_);
  return known == nullptr || (options_.busy_again && known->waited > busy_share && !fresh_.contains(name));
}

Result<void> Measurer::open_device() {
  if (device_) return {};
  Result<std::unique_ptr<Device>> opened = open_(options_.memory_limit);
  if (!opened) return opened.error();
  device_ = std::move(*opened);
  return {};
}

Result<void> Measurer::measure(const LayerProblem& problem, std::vector<Way> ways) {
  Seconds least = std::numeric_limits<double>::infinity();
  for (const Way& way : ways) least = std::min(least, way.expected);
  std::erase_if(
      ways, [&](const Way& way) { return way.expected > options_.skip_ratio * least || !measurable(problem, way); });
  std::stable_sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) { return a.expected < b.expected; });
  // Ways whose persistent copies do not fit beside the others' wait for a turn of their own.
  std::span<const Way> waiting = ways;
  while (!waiting.empty() && !time_is_up()) {
    const std::span<const Way> together = waiting.first(fitting(waiting));
    if (Result<void> done = measure_together(problem, together); !done) return done;
    waiting = waiting.subspan(together.size());
  }
  return {};
}

// Returns how many of the ways, from the first on, can be prepared side by side around one block; at least one.
std::size_t Measurer::fitting(std::span<const Way> ways) const {
  std::int64_t block = 0;
  std::int64_t kept = 0;
  std::size_t count = 0;
  for (; count < ways.size(); ++count) {
    block = std::max(block, pack(ways[count].estimate.memory).bytes);
    kept = add(kept, kept_bytes(ways[count]));
    if (count > 0 && add(block, kept) > options_.memory_limit) break;
  }
  return count;
}

Result<void> Measurer::measure_together(const LayerProblem& problem, std::span<const Way> ways) {
  std::vector<Trial> trials(ways.size());
  for (std::size_t i = 0; i < ways.size(); ++i) trials[i].way = &ways[i];
  Result<void> ran =
      options_.in_child ? run_in_children(problem, trials) : run_trials(problem, trials, [&](const ChildMessage&) {});
  for (const Trial& trial : trials) {
    if (Result<void> done = record(problem, trial); !done) return done;
  }
  return ran;
}

// Prepares and runs, in this process; `tell` hears of every step.
Result<void> Measurer::run_trials(const LayerProblem& problem, std::vector<Trial>& trials, const Tell& tell) {
  if (Result<void> opened = open_device(); !opened) return opened;
  std::int64_t bytes = 0;
  for (const Trial& trial : trials) bytes = std::max(bytes, pack(trial.way->estimate.memory).bytes);
  const Result<Reservation> block = device_->reserve(MemorySpace::host, bytes, "layer to measure");
  if (!block) return block.error();
  prefault(*block, device_->executor());
  const LayerParameters parameters = random_parameters(problem);
  std::vector<std::unique_ptr<LayerRun>> runs = prepare(problem, trials, parameters, *block, tell);
  sample(trials, runs, tell);
  return {};
}

std::vector<std::unique_ptr<LayerRun>> Measurer::prepare(const LayerProblem& problem, std::vector<Trial>& trials,
                                                         const LayerParameters& parameters, const Reservation& block,
                                                         const Tell& tell) {
  std::vector<std::unique_ptr<LayerRun>> runs(trials.size());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].over) continue;
    const auto which = static_cast<int>(i);
    tell(ChildMessage::make(told::preparing, which, 0));
    const Way& way = *trials[i].way;
    Result<std::unique_ptr<LayerRun>> run =
        LayerRun::make(problem, *way.primitive, way.estimate, parameters, block, *device_);
    if (run) {
      runs[i] = *std::move(run);
    } else {
      trials[i].fail(run.error().message);
      tell(ChildMessage::make(told::failing, which, 0, run.error().message));
    }
  }
  return runs;
}

// Runs each way that is still in the race once a round.
void Measurer::sample(std::vector<Trial>& trials, std::vector<std::unique_ptr<LayerRun>>& runs,
                      const Tell& tell) const {
  // A child does not ask whether to stop: its parent does.
  const auto is_up = [&] { return seconds_to(end_) <= 0 || (!options_.in_child && time_is_up()); };
  for (bool running = true; running && !is_up();) {
    running = false;
    Seconds best = std::numeric_limits<double>::infinity();
    for (const Trial& trial : trials) best = std::min(best, trial.mean());
    for (std::size_t i = 0; i < trials.size(); ++i) {
      Trial& trial = trials[i];
      trial.over = trial.over || (trial.samples.empty() && trial.way->expected > seconds_to(end_));
      if (trial.over || is_up()) continue;
      const auto which = static_cast<int>(i);
      tell(ChildMessage::make(told::running, which, trial.patience(best)));
      const ThreadTimes before = read_thread_times();
      const Result<Seconds> seconds = runs[i]->run();
      trial.threads += read_thread_times() - before;
      if (!seconds) {
        trial.fail(seconds.error().message);
        tell(ChildMessage::make(told::failing, which, 0, seconds.error().message));
        continue;
      }
      tell(ChildMessage::make(told::threads, which, trial.threads.waited, "", trial.threads.ran));
      if (trial.warm || *seconds >= options_.long_run) {
        trial.samples.push_back(*seconds);
        tell(ChildMessage::make(told::sampled, which, *seconds));
      }
      trial.warm = true;
      running = true;
    }
    for (const Trial& trial : trials) best = std::min(best, trial.mean());
    for (Trial& trial : trials) trial.over = trial.over || is_over(trial, best);
  }
}

bool Measurer::is_over(const Trial& trial, Seconds best) const {
  const auto count = static_cast<int>(trial.samples.size());
  if (count == 0) return false;
  const Seconds mean = trial.mean();
  if (count >= options_.min_samples && mean > options_.drop_ratio * best) return true;
  if (count >= 2 && mean >= options_.long_run) return true;
  const Seconds sum = std::accumulate(trial.samples.begin(), trial.samples.end(), Seconds{0});
  return count >= options_.max_samples || (count >= 3 && sum >= options_.enough);
}

// Runs the trials in a child process, and, if a way has ended it, the ways that are left in the next one.
Result<void> Measurer::run_in_children(const LayerProblem& problem, std::vector<Trial>& trials) {
  const auto in_race = [](const Trial& trial) { return !trial.over; };
  while (std::any_of(trials.begin(), trials.end(), in_race) && !time_is_up()) {
    int current = -1;
    std::string error;
    const auto hear = [&](const ChildMessage& message) -> Seconds {
      if (message.what == told::broken) error = message.text();
      if (message.which < 0 || message.which >= static_cast<int>(trials.size())) return no_limit;
      current = message.which;
      Trial& trial = trials[static_cast<std::size_t>(current)];
      if (message.what == told::failing) trial.fail(message.text());
      if (message.what == told::sampled) trial.samples.push_back(message.number);
      if (message.what == told::threads) trial.threads = {message.second, message.number};
      return message.what == told::running ? message.number : no_limit;
    };
    const auto work = [&](const Tell& tell) {
      if (const Result<void> ran = run_trials(problem, trials, tell); !ran) {
        tell(ChildMessage::make(told::broken, -1, 0, ran.error().message));
      }
    };
    const auto stop = [this] { return (options_.stop && options_.stop()) || seconds_to(end_) < -grace; };
    const Result<ChildEnd> end =
        run_in_child(work, hear, {add(options_.memory_limit, child_overhead(spec_.threads)), stop});
    if (!end) return end.error();
    if (!error.empty()) return Error{ErrorCode::device_failure, error};
    if (end->how == ChildEnd::done || end->how == ChildEnd::stopped) break;
    if (current < 0) return Error{ErrorCode::device_failure, "the process that measures " + end->why + " at its start"};
    Trial& guilty = trials[static_cast<std::size_t>(current)];
    guilty.fail(end->why);
  }
  return {};
}

Result<void> Measurer::record(const LayerProblem& problem, const Trial& trial) {
  const Way& way = *trial.way;
  const std::string name = key(*way.primitive, way.estimate, problem);
  if (!trial.failure.empty()) {
    failed_.insert(name);
    failures_.push_back(std::string(way.primitive->name) + " on " + to_string(problem) + ": " + trial.failure);
  }
  if (trial.samples.empty()) return {};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  TimingRecord made{std::string(way.primitive->name),
                    way.primitive->version,
                    way.estimate.variant,
                    way.estimate.in,
                    way.estimate.out,
                    to_string(problem),
                    spec_.name,
                    spec_.threads,
                    trial.samples,
                    std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                    way.estimate.time,
                    trial.threads.waited_share(),
                    {}};
  timings_.insert(made);
  fresh_.insert(name);
  if (made.waited > busy_share) ++busy_;
  return on_record_ ? on_record_(made) : Result<void>();
}

std::unique_ptr<CostSource> Measurer::costs() const {
  return std::make_unique<MeasuredCosts>(recorded_costs(timings_, spec_), fresh_, failed_);
}

}  // namespace znni
