#include "tests/bench/layers/layer_bench.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "planner/base/text_table.hpp"
#include "planner/measure/layer_run.hpp"
#include "primitives/core/precision.hpp"
#include "tests/bench/layers/layer_samples.hpp"
#include "tests/bench/median.hpp"

namespace znni::bench {
namespace {

constexpr double given_up = 3.0;           // bound of a first run over the best so far
constexpr int samples = 200;               // outputs compared with float64
constexpr double wrong_error = 1e-3;       // far above any rounding of float32
constexpr double wrong_bf16_error = 5e-2;  // of bf16

bool blocked(const Estimate& estimate) {
  return block_width(estimate.in.layout) > 1 && block_width(estimate.out.layout) > 1;
}

std::int64_t transient_bytes(const Estimate& estimate) { return pack(estimate.memory).bytes; }

// Returns the ways to run in blocked formats, those expected to be fast first.
std::vector<Estimate> candidates(std::vector<Estimate> estimates) {
  if (std::any_of(estimates.begin(), estimates.end(), blocked)) {
    std::erase_if(estimates, [](const Estimate& estimate) { return !blocked(estimate); });
  }
  std::stable_sort(estimates.begin(), estimates.end(),
                   [](const Estimate& a, const Estimate& b) { return a.time < b.time; });
  return estimates;
}

class LayerBench {
 public:
  LayerBench(const ConvProblem& problem, const LayerWork& work)
      : problem_(problem), work_(work), parameters_(random_parameters(problem)) {}

  Result<std::vector<PrimitiveTimes>> run(std::span<const Primitive* const> primitives) {
    std::vector<PrimitiveTimes> all;
    for (const Primitive* primitive : primitives) {
      Result<PrimitiveTimes> times = choose(*primitive);
      if (!times) return times.error().within(primitive->name);
      all.push_back(std::move(*times));
    }
    if (Result<void> done = interleave(primitives, all); !done) return done.error();
    return all;
  }

 private:
  // A prepared way, with its index in the results.
  struct Runner {
    std::size_t index;
    std::unique_ptr<LayerRun> layer;
  };

  Result<RunTime> run_once(LayerRun& layer) const {
    fill_input(layer.inputs()[0], work_.device->executor());
    return time_run(work_, energy_, [&layer] { return layer.run_filled(); });
  }

  // Returns the ways that fit the budget. Fails if there are none.
  Result<std::vector<Estimate>> fitting(const Primitive& primitive) const {
    Result<std::vector<Estimate>> offered = primitive.describe(problem_, work_.device->spec());
    if (!offered) return offered.error();
    std::vector<Estimate> ways = candidates(std::move(*offered));
    std::int64_t least = saturated;
    const std::int64_t budget = work_.device->budget(MemorySpace::host);
    std::erase_if(ways, [&](const Estimate& way) {
      const std::int64_t bytes = add(transient_bytes(way), persistent_bytes(way.memory));
      least = std::min(least, bytes);
      return bytes > budget;
    });
    if (!ways.empty()) return ways;
    return Error{ErrorCode::over_budget, "needs " + bytes_text(least) + ", the limit is " + bytes_text(budget)};
  }

  // Returns the seconds of the second run; infinity if the first was so slow that the way is given up.
  Result<Seconds> try_way(const Primitive& primitive, const Estimate& way, const Reservation& block,
                          Seconds best) const {
    const Result<std::unique_ptr<LayerRun>> layer =
        LayerRun::make(problem_, primitive, way, parameters_, block, *work_.device);
    // The way's persistent bytes may not fit beside the block, which is as large as the largest way needs.
    if (!layer && layer.error().code == ErrorCode::over_budget) return std::numeric_limits<Seconds>::infinity();
    if (!layer) return layer.error();
    const Result<RunTime> first = run_once(**layer);
    if (!first) return first.error();
    if (first->wall > given_up * best) return std::numeric_limits<Seconds>::infinity();
    const Result<RunTime> second = run_once(**layer);
    if (!second) return second.error();
    return second->wall;
  }

  Result<PrimitiveTimes> choose(const Primitive& primitive) {
    PrimitiveTimes times;
    times.primitive = primitive.name;
    const Result<std::vector<Estimate>> ways = fitting(primitive);
    chosen_.emplace_back();
    if (!ways) {
      times.refusal = ways.error().message;
      return times;
    }
    std::int64_t bytes = 0;
    for (const Estimate& way : *ways) bytes = std::max(bytes, transient_bytes(way));
    const Result<Reservation> block = touched_block(work_, bytes);
    if (!block) return block.error();
    Seconds best = std::numeric_limits<Seconds>::infinity();
    for (const Estimate& way : *ways) {
      const Result<Seconds> seconds = try_way(primitive, way, *block, best);
      if (!seconds) return seconds.error();
      ++times.tried;
      work_.say(times.primitive + " " + to_string(way.variant) + ": " +
                (*seconds < 1e9 ? seconds_text(*seconds) : "given up"));
      if (*seconds >= best) continue;
      best = *seconds;
      chosen_.back() = way;
    }
    if (best == std::numeric_limits<Seconds>::infinity()) {
      times.refusal = "no way fits the limit beside the memory of the others";
      return times;
    }
    describe_chosen(times);
    return times;
  }

  void describe_chosen(PrimitiveTimes& times) const {
    const Estimate& way = chosen_.back();
    times.variant = way.variant;
    times.in = way.in;
    times.out = way.out;
    times.persistent_bytes = persistent_bytes(way.memory);
    times.transient_bytes = transient_bytes(way);
  }

  Result<std::vector<Runner>> prepare(std::span<const Primitive* const> primitives,
                                      const std::vector<PrimitiveTimes>& all, const Reservation& block) const {
    std::vector<Runner> runners;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].ran()) continue;
      Result<std::unique_ptr<LayerRun>> layer =
          LayerRun::make(problem_, *primitives[i], chosen_[i], parameters_, block, *work_.device);
      if (!layer) return layer.error();
      const Result<RunTime> warm = run_once(**layer);
      if (!warm) return warm.error();
      runners.push_back({i, std::move(*layer)});
    }
    return runners;
  }

  Result<void> interleave(std::span<const Primitive* const> primitives, std::vector<PrimitiveTimes>& all) const {
    std::int64_t bytes = 0;
    std::string refusals;
    for (const PrimitiveTimes& times : all) {
      bytes = std::max(bytes, times.transient_bytes);
      if (!times.ran()) refusals += (refusals.empty() ? "" : "; ") + times.primitive + ": " + times.refusal;
    }
    if (bytes == 0) return Error{ErrorCode::unsupported, "no primitive ran: " + refusals};
    const Result<Reservation> block = touched_block(work_, bytes);
    if (!block) return block.error();
    const Result<std::vector<Runner>> runners = prepare(primitives, all, *block);
    if (!runners) return runners.error();
    for (int repetition = 1; repetition <= work_.repetitions; ++repetition) {
      work_.say("repetition " + std::to_string(repetition) + " of " + std::to_string(work_.repetitions));
      for (const Runner& runner : *runners) {
        const Result<RunTime> time = run_once(*runner.layer);
        if (!time) return time.error();
        all[runner.index].runs.push_back(*time);
        if (repetition < work_.repetitions) continue;
        if (Result<void> right = compare(runner.layer->output(), all[runner.index]); !right) return right.error();
      }
    }
    return {};
  }

  Result<void> compare(const TensorView& output, PrimitiveTimes& times) const {
    std::vector<float> found;
    std::vector<double> exact;
    for (const Place& place : sample_places(output.shape, samples)) {
      found.push_back(output.at(place.s, place.f, place.n));
      exact.push_back(exact_output(problem_, parameters_.view(), place));
    }
    times.error = relative_error(found, exact);
    const bool is_coarse = precision_of(times.variant, times.in, times.out) == Precision::bf16;
    if (times.error <= (is_coarse ? wrong_bf16_error : wrong_error)) return {};
    return Error{ErrorCode::internal, times.primitive + " " + to_string(times.variant) + ": wrong by " +
                                          fixed_text(times.error, 6) + " of the output's root mean square"};
  }

  const ConvProblem& problem_;
  const LayerWork& work_;
  const LayerParameters parameters_;
  const EnergyMeter energy_;
  std::vector<Estimate> chosen_;  // the chosen way of each primitive so far
};

}  // namespace

Seconds PrimitiveTimes::median_wall() const {
  std::vector<Seconds> seconds;
  for (const RunTime& run : runs) seconds.push_back(run.wall);
  return median(std::move(seconds));
}

Seconds PrimitiveTimes::median_processor() const {
  std::vector<Seconds> seconds;
  for (const RunTime& run : runs) seconds.push_back(run.processor);
  return median(std::move(seconds));
}

std::optional<double> PrimitiveTimes::median_joules() const {
  std::vector<double> joules;
  for (const RunTime& run : runs) {
    if (!run.joules) return std::nullopt;
    joules.push_back(*run.joules);
  }
  return median(std::move(joules));
}

Result<std::vector<PrimitiveTimes>> run_layer(const ConvProblem& problem, std::span<const Primitive* const> primitives,
                                              const LayerWork& work) {
  if (Result<void> sound = check(LayerProblem(problem)); !sound) return sound.error();
  return LayerBench(problem, work).run(primitives);
}

double speed_over_last(const PrimitiveTimes& one, std::span<const PrimitiveTimes> all) {
  if (!one.ran() || !all.back().ran()) return 0;
  return all.back().median_wall() / one.median_wall();
}

}  // namespace znni::bench
