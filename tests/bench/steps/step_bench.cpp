#include "tests/bench/steps/step_bench.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "planner/base/text_table.hpp"
#include "primitives/core/index.hpp"
#include "tests/bench/layers/gradient_samples.hpp"
#include "tests/bench/steps/call_run.hpp"

namespace znni::bench {
namespace {

constexpr double given_up = 3.0;      // bound of a first run over the best so far
constexpr double hopeless = 20.0;     // bound of a prediction over the planned one
constexpr int samples = 200;          // results compared with float64
constexpr double max_terms = 2e8;     // of all those together
constexpr double wrong_error = 1e-3;  // far above any rounding of float32
constexpr Seconds never = std::numeric_limits<Seconds>::infinity();

double terms_of_result(const StepProblem& problem) {
  const auto* gradient = std::get_if<GradientProblem>(&problem);
  if (gradient == nullptr || gradient->of != GradientOf::weights) return 0;
  const Shape5 output = output_shape(gradient->layer);
  return static_cast<double>(output.S * voxels(output.n));
}

int sample_count(const StepProblem& problem) {
  const double fit = max_terms / std::max(terms_of_result(problem), 1.0);
  return static_cast<int>(std::clamp(fit, 1.0, static_cast<double>(samples)));
}

bool is_blocked(const StepCall& call) {
  const bool writes = call.estimate.out != Format{} || call.writes >= 0;  // the gradients of weights are planar
  return block_width(call.estimate.in.layout) > 1 && (!writes || block_width(call.estimate.out.layout) > 1);
}

CallTimes described(const StepCall& call, bool is_planned) {
  CallTimes one;
  one.part = call.node;
  one.is_planned = is_planned;
  one.predicted = call.seconds;
  one.times.primitive = primitive_of(call);
  one.times.variant = call.estimate.variant;
  one.times.in = call.estimate.in;
  one.times.out = call.estimate.out;
  one.times.tried = 1;
  one.times.persistent_bytes = persistent_bytes(call.estimate.memory);
  one.times.transient_bytes = CallRun::bytes_of(call) - one.times.persistent_bytes;
  return one;
}

class StepBench {
 public:
  StepBench(const ConvProblem& problem, const StepParts& parts, const LayerWork& work)
      : problem_(problem), parts_(parts), work_(work), parameters_(random_parameters(problem)) {}

  Result<std::vector<CallTimes>> run(std::int64_t memory, const Others& others) {
    const Result<std::vector<StepCall>> planned = plan_layer_step(problem_, parts_, memory);
    if (!planned) return planned.error();
    for (const StepCall& call : *planned) add(call, true, 1);
    for (int part = 0; index(part) < step_parts.size(); ++part) {
      if (Result<void> done = add_others(part, others); !done) return done.error().within(step_parts[index(part)]);
    }
    if (Result<void> done = interleave(); !done) return done.error();
    return std::move(all_);
  }

 private:
  void add(const StepCall& call, bool is_planned, int tried) {
    all_.push_back(described(call, is_planned));
    all_.back().times.tried = tried;
    calls_.push_back(call);
  }

  void refuse(int part, std::string_view primitive, std::string why) {
    CallTimes one;
    one.part = part;
    one.times.primitive = primitive;
    one.times.refusal = std::move(why);
    all_.push_back(std::move(one));
    calls_.emplace_back();
  }

  // Returns what was planned for a part; for a gradient that of all gradients, because both may be one part.
  [[nodiscard]] Seconds planned_seconds(int part) const {
    Seconds sum = 0;
    for (const CallTimes& one : all_) sum += one.is_planned && (one.part > 0) == (part > 0) ? one.predicted : 0;
    return sum;
  }

  // Runs the ways of every other primitive that computes the part.
  Result<void> add_others(int part, const Others& others) {
    if (!others.all && others.names.empty()) return {};
    Result<std::vector<StepCall>> offered = calls_of_part(problem_, part, parts_);
    if (!offered && step_parts[index(part)] == step_parts.back()) return {};  // none computes both
    if (!offered) return offered.error();
    while (!offered->empty()) {
      const std::string_view name = primitive_of(offered->front());
      const auto rest = std::stable_partition(offered->begin(), offered->end(),
                                              [name](const StepCall& call) { return primitive_of(call) == name; });
      std::vector<StepCall> ways(offered->begin(), rest);
      offered->erase(offered->begin(), rest);
      const bool is_named = std::find(others.names.begin(), others.names.end(), name) != others.names.end();
      if (!is_named && !others.all) continue;
      if (Result<void> done = add_fastest(part, std::move(ways), is_named); !done) return done.error().within(name);
    }
    return {};
  }

  // Adds the fastest of the ways of one primitive, or why none ran.
  Result<void> add_fastest(int part, std::vector<StepCall> ways, bool is_named) {
    const std::string_view name = primitive_of(ways.front());
    if (std::any_of(ways.begin(), ways.end(), is_blocked)) {
      std::erase_if(ways, [](const StepCall& call) { return !is_blocked(call); });
    }
    std::stable_sort(ways.begin(), ways.end(),
                     [](const StepCall& a, const StepCall& b) { return a.seconds < b.seconds; });
    if (!is_named && ways.front().seconds > hopeless * planned_seconds(part)) {
      refuse(part, name, "predicted to take " + seconds_text(ways.front().seconds));
      return {};
    }
    const std::int64_t budget = work_.device->budget(MemorySpace::host);
    std::int64_t least = saturated;
    for (const StepCall& way : ways) least = std::min(least, CallRun::bytes_of(way));
    std::erase_if(ways, [budget](const StepCall& way) { return CallRun::bytes_of(way) > budget; });
    if (ways.empty()) {
      refuse(part, name, "needs " + bytes_text(least) + ", the limit is " + bytes_text(budget));
      return {};
    }
    const Result<StepCall> best = fastest(ways);
    if (!best) return best.error();
    add(*best, false, static_cast<int>(ways.size()));
    return {};
  }

  Result<StepCall> fastest(const std::vector<StepCall>& ways) const {
    std::int64_t bytes = 0;
    for (const StepCall& way : ways) bytes = std::max(bytes, CallRun::bytes_of(way));
    const Result<Reservation> block = touched_block(work_, bytes);
    if (!block) return block.error();
    Seconds best = never;
    const StepCall* found = &ways.front();
    for (const StepCall& way : ways) {
      const Result<Seconds> seconds = try_way(way, *block, best);
      if (!seconds) return seconds.error();
      work_.say(std::string(primitive_of(way)) + " " + to_string(way.estimate.variant) + ": " +
                (*seconds < never ? seconds_text(*seconds) : "given up"));
      if (*seconds >= best) continue;
      best = *seconds;
      found = &way;
    }
    return *found;
  }

  // Returns the seconds of the second run; `never` if the first was so slow that the way is given up.
  Result<Seconds> try_way(const StepCall& way, const Reservation& block, Seconds best) const {
    const Result<std::unique_ptr<CallRun>> run = CallRun::make(way, parameters_, block, *work_.device);
    if (!run) return run.error();
    const Result<RunTime> first = run_once(**run);
    if (!first) return first.error();
    if (first->wall > given_up * best) return never;
    const Result<RunTime> second = run_once(**run);
    if (!second) return second.error();
    return second->wall;
  }

  Result<RunTime> run_once(CallRun& run) const {
    run.fill();
    return time_run(work_, energy_, [&run] { return run.run(); });
  }

  Result<void> interleave() {
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].times.ran()) bytes = std::max(bytes, CallRun::bytes_of(calls_[i]));
    }
    const Result<Reservation> block = touched_block(work_, bytes);
    if (!block) return block.error();
    std::vector<std::pair<std::size_t, std::unique_ptr<CallRun>>> runners;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!all_[i].times.ran()) continue;
      Result<std::unique_ptr<CallRun>> run = CallRun::make(calls_[i], parameters_, *block, *work_.device);
      if (!run) return run.error();
      if (const Result<RunTime> warm = run_once(**run); !warm) return warm.error();
      if (Result<void> right = compare(**run, i); !right) return right;
      runners.emplace_back(i, std::move(*run));
    }
    for (int repetition = 1; repetition <= work_.repetitions; ++repetition) {
      work_.say("repetition " + std::to_string(repetition) + " of " + std::to_string(work_.repetitions));
      for (const auto& [number, run] : runners) {
        const Result<RunTime> time = run_once(*run);
        if (!time) return time.error();
        all_[number].times.runs.push_back(*time);
      }
    }
    return {};
  }

  // Returns the error of samples of what a call wrote.
  [[nodiscard]] double error_of(const StepProblem& problem, const TensorView& written) const {
    std::vector<float> found;
    std::vector<double> exact;
    for (const Place& place : sample_places(result_shape(problem), sample_count(problem))) {
      found.push_back(written.at(place.s, place.f, place.n));
      exact.push_back(exact_result(problem, parameters_.view(), place));
    }
    return relative_error(found, exact);
  }

  Result<void> compare(const CallRun& run, std::size_t number) {
    const StepCall& call = calls_[number];
    PrimitiveTimes& times = all_[number].times;
    times.error = error_of(call.problem, run.result());
    const auto* gradient = std::get_if<GradientProblem>(&call.problem);
    if (gradient != nullptr && gradient->of == GradientOf::both) {
      const GradientProblem weights{gradient->layer, GradientOf::weights};
      times.error = std::max(times.error, error_of(weights, run.weights()));
    }
    if (times.error <= wrong_error) return {};
    return Error{ErrorCode::internal, std::string(step_parts[index(call.node)]) + ": " + times.primitive + " " +
                                          to_string(times.variant) + ": wrong by " + fixed_text(times.error, 6) +
                                          " of the root mean square"};
  }

  const ConvProblem& problem_;
  const StepParts& parts_;
  const LayerWork& work_;
  const LayerParameters parameters_;
  const EnergyMeter energy_;
  std::vector<CallTimes> all_;
  std::vector<StepCall> calls_;  // of each; not set if it has a refusal
};

}  // namespace

Result<std::vector<CallTimes>> run_step(const ConvProblem& problem, const StepParts& parts, std::int64_t memory,
                                        const Others& others, const LayerWork& work) {
  if (Result<void> sound = check(LayerProblem(problem)); !sound) return sound.error();
  return StepBench(problem, parts, work).run(memory, others);
}

std::vector<RunTime> step_runs(const std::vector<CallTimes>& all) {
  std::vector<RunTime> sums;
  for (const CallTimes& one : all) {
    if (!one.is_planned) continue;
    sums.resize(std::max(sums.size(), one.times.runs.size()));
    for (std::size_t i = 0; i < one.times.runs.size(); ++i) {
      sums[i].wall += one.times.runs[i].wall;
      sums[i].processor += one.times.runs[i].processor;
    }
  }
  return sums;
}

Seconds predicted_step(const std::vector<CallTimes>& all) {
  Seconds sum = 0;
  for (const CallTimes& one : all) sum += one.is_planned ? one.predicted : 0;
  return sum;
}

}  // namespace znni::bench
