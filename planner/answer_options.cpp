#include "planner/answer_options.hpp"

#include <CLI/CLI.hpp>

#include <utility>

#include "planner/sizes.hpp"

namespace znni {
namespace {

Error not_so(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

// Refuses flags that ask for something about one plan.
Result<void> check_alone(const std::string& flag, const PlannerOptions& options) {
  if (options.command != Command::plan) return not_so(flag + " is for planning: leave it out of this command");
  if (options.model.empty()) return not_so(flag + " is for one model: give --model FILE");
  const bool of_a_plan = options.explain || options.k8s_resources || !options.output.empty() || !options.report.empty();
  if (of_a_plan) return not_so(flag + " prints no plan: leave out --explain, --k8s-resources, --output and --report");
  if (options.patience != Patience::measure) return {};
  return not_so(flag + " measures nothing: run planner measure --model FILE first, and leave out --patience measure");
}

Result<void> read_curve(const RawAnswers& raw, PlannerOptions& options) {
  if (raw.curve.empty()) return {};
  const Result<ByteRange> range = parse_byte_range(raw.curve);
  if (!range) return range.error().within("--curve");
  options.curve = *range;
  return check_alone("--curve", options);
}

Result<void> read_machines(const RawAnswers& raw, PlannerOptions& options) {
  if (raw.machines.size() > 1) {
    return not_so("--machine is given " + std::to_string(raw.machines.size()) + " times: a plan is for one machine");
  }
  if (!raw.machines.empty()) options.machine = raw.machines.front();
  return {};
}

}  // namespace

void add_answer_flags(CLI::App& app, RawAnswers& raw) {
  app.add_option("--machine", raw.machines, "timings of another machine, to plan for that one (docs/timings.md)")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--curve", raw.curve,
                 "the best predicted rates in a range of memory limits, in place of a plan: --curve 1G..256G");
}

Result<void> read_answers(const RawAnswers& raw, PlannerOptions& options) {
  if (Result<void> read = read_machines(raw, options); !read) return read;
  return read_curve(raw, options);
}

}  // namespace znni
