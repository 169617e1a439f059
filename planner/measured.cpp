#include "planner/measured.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "planner/layer_run.hpp"

namespace znni {
namespace {

std::string key(const Primitive& primitive, const Estimate& estimate, const LayerProblem& problem) {
  return std::string(primitive.name) + "|" + to_string(estimate.variant) + "|" + to_string(estimate.in) + "|" +
         to_string(estimate.out) + "|" + to_string(problem);
}

// Persistent bytes, each buffer aligned.
std::int64_t kept_bytes(const Way& way) {
  const auto buffers = static_cast<std::int64_t>(way.estimate.memory.size());
  return add(persistent_bytes(way.estimate.memory), mul(buffers + 1, buffer_alignment));
}

std::int64_t bytes_needed(const Way& way) { return add(pack(way.estimate.memory).bytes, kept_bytes(way)); }

// Brings every page in, so that the first run does not pay for it.
void touch(const Reservation& block, Executor& executor) {
  constexpr std::int64_t page = 4096;
  constexpr std::int64_t piece = 256 * page;
  executor.parallel_for(div_up(block.bytes(), piece), [&](std::int64_t index, int) {
    const std::int64_t end = std::min(block.bytes(), (index + 1) * piece);
    for (std::int64_t at = index * piece; at < end; at += page) block.data()[at] = std::byte{1};
  });
}

class MeasuredCosts final : public CostSource {
 public:
  MeasuredCosts(std::unique_ptr<CostSource> recorded, std::set<std::string> fresh)
      : recorded_(std::move(recorded)), fresh_(std::move(fresh)) {}

  Cost cost(const LayerProblem& problem, const Primitive& primitive, const Estimate& estimate) override {
    Cost cost = recorded_->cost(problem, primitive, estimate);
    if (cost.basis == Basis::recorded && fresh_.contains(key(primitive, estimate, problem))) {
      cost.basis = Basis::measured;
    }
    return cost;
  }

 private:
  std::unique_ptr<CostSource> recorded_;
  std::set<std::string> fresh_;
};

}  // namespace

// A way while it is measured.
struct Measurer::Trial {
  const Way* way = nullptr;
  std::unique_ptr<LayerRun> run;
  std::vector<Seconds> samples;
  bool warm = false;
  bool failed = false;
  bool over = false;  // enough samples, too slow, or failed

  [[nodiscard]] Seconds mean() const {
    return samples.empty() ? std::numeric_limits<double>::infinity() : robust_mean(samples);
  }
  [[nodiscard]] bool has_enough(const MeasureOptions& options) const {
    const Seconds sum = std::accumulate(samples.begin(), samples.end(), Seconds{0});
    if (samples.size() >= 2 && mean() >= options.long_run) return true;
    return static_cast<int>(samples.size()) >= options.most_samples || (samples.size() >= 3 && sum >= options.enough);
  }
};

Measurer::Measurer(OpenDevice open, const DeviceSpec& spec, Timings& timings, MeasureOptions options,
                   OnRecord on_record)
    : open_(std::move(open)),
      spec_(spec),
      timings_(timings),
      options_(std::move(options)),
      on_record_(std::move(on_record)),
      end_(std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                  std::chrono::duration<double>(std::min(options_.time_limit, 1e9)))) {}

Measurer::~Measurer() = default;

Seconds Measurer::time_left() const {
  if (options_.stop && options_.stop()) return 0;
  return std::chrono::duration<double>(end_ - std::chrono::steady_clock::now()).count();
}

bool Measurer::measurable(const LayerProblem& problem, const Way& way) const {
  return timings_.find(*way.primitive, way.estimate, problem, spec_) == nullptr &&
         bytes_needed(way) <= options_.memory_limit && !failed_.contains(key(*way.primitive, way.estimate, problem));
}

Result<void> Measurer::open_device() {
  if (device_) return {};
  Result<std::unique_ptr<Device>> opened = open_(options_.memory_limit);
  if (!opened) return opened.error();
  device_ = std::move(*opened);
  return {};
}

Result<void> Measurer::measure(const LayerProblem& problem, std::vector<Way> ways) {
  if (Result<void> opened = open_device(); !opened) return opened;
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

// How many of the ways, from the first on, can be prepared side by side around one block; at least one.
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
  std::int64_t bytes = 0;
  for (const Way& way : ways) bytes = std::max(bytes, pack(way.estimate.memory).bytes);
  const Result<Reservation> block = device_->reserve(MemorySpace::host, bytes, "layer to measure");
  if (!block) return block.error();
  touch(*block, device_->executor());
  const LayerParameters parameters = random_parameters(problem);
  std::vector<Trial> trials(ways.size());
  for (std::size_t i = 0; i < ways.size(); ++i) {
    trials[i].way = &ways[i];
    Result<std::unique_ptr<LayerRun>> run =
        LayerRun::make(problem, *ways[i].primitive, ways[i].estimate, parameters, *block, *device_);
    trials[i].over = trials[i].failed = !run;
    if (run) trials[i].run = *std::move(run);
  }
  sample(trials);
  for (const Trial& trial : trials) {
    if (Result<void> done = record(problem, trial); !done) return done;
  }
  return {};
}

// Round after round, one run of each way that is still in the race.
void Measurer::sample(std::vector<Trial>& trials) const {
  bool running = true;
  while (running && !time_is_up()) {
    running = false;
    for (Trial& trial : trials) {
      trial.over = trial.over || (trial.samples.empty() && trial.way->expected > time_left());
      if (trial.over || time_is_up()) continue;
      const Result<Seconds> seconds = trial.run->run();
      trial.over = trial.failed = !seconds;
      if (!seconds) continue;
      if (trial.warm || *seconds >= options_.long_run) trial.samples.push_back(*seconds);
      trial.warm = true;
      running = true;
    }
    Seconds best = std::numeric_limits<double>::infinity();
    for (const Trial& trial : trials) best = std::min(best, trial.mean());
    for (Trial& trial : trials) {
      const bool slow = !trial.samples.empty() && trial.mean() > options_.drop_ratio * best;
      trial.over = trial.over || slow || trial.has_enough(options_);
    }
  }
}

Result<void> Measurer::record(const LayerProblem& problem, const Trial& trial) {
  const Way& way = *trial.way;
  const std::string name = key(*way.primitive, way.estimate, problem);
  if (trial.samples.empty() || trial.failed) {
    if (trial.failed) failed_.insert(name);
    return {};
  }
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
                    way.estimate.time};
  timings_.insert(made);
  fresh_.insert(name);
  return on_record_ ? on_record_(made) : Result<void>();
}

std::unique_ptr<CostSource> Measurer::costs() const {
  return std::make_unique<MeasuredCosts>(recorded_costs(timings_, spec_), fresh_);
}

}  // namespace znni
