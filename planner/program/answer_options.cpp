#include "planner/program/answer_options.hpp"

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "planner/base/sizes.hpp"

namespace znni {
namespace {

Error not_so(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

// Reads "server.pbtxt=2.5"; the file's own name may have a '='.
Result<PricedMachine> parse_priced(const std::string& text) {
  const std::size_t at = text.rfind('=');
  double dollars = 0;
  if (at != std::string::npos && at > 0) {
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + at + 1, end, dollars, std::chars_format::fixed);
    if (error == std::errc() && rest == end && std::isfinite(dollars) && dollars > 0) {
      return PricedMachine{text.substr(0, at), dollars};
    }
  }
  return not_so("--machine '" + text +
                "': with --price write FILE=DOLLARS_PER_HOUR, more than 0, such as server.pbtxt=2.50");
}

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
  if (raw.price) return not_so("--curve and --price exclude each other");
  const Result<MemoryRange> range = parse_byte_range(raw.curve);
  if (!range) return range.error().within("--curve");
  options.curve = *range;
  return check_alone("--curve", options);
}

Result<void> read_within(const RawAnswers& raw, PlannerOptions& options) {
  if (raw.within.empty()) return {};
  if (!raw.price) return not_so("--within is of a price list: it goes with --price");
  if (!options.volume) return not_so("--within is the time that a volume may take: give --volume Z,Y,X");
  const Result<Seconds> within = parse_duration(raw.within);
  if (!within) return within.error().within("--within");
  options.within = *within;
  return {};
}

Result<void> read_prices(const RawAnswers& raw, PlannerOptions& options) {
  if (raw.machines.empty()) return not_so("--price compares machines: give --machine FILE=DOLLARS_PER_HOUR for each");
  for (const std::string& each : raw.machines) {
    const Result<PricedMachine> priced = parse_priced(each);
    if (!priced) return priced.error();
    options.priced.push_back(*priced);
  }
  options.any_strategy = !raw.names_strategy;
  return check_alone("--price", options);
}

Result<void> read_machines(const RawAnswers& raw, PlannerOptions& options) {
  if (raw.price) return read_prices(raw, options);
  if (raw.machines.size() > 1) {
    return not_so("--machine is given " + std::to_string(raw.machines.size()) +
                  " times: a plan is for one machine; --price compares several");
  }
  if (!raw.machines.empty()) options.machine = raw.machines.front();
  return {};
}

// Reads --train. A plan of a training step has other options than one of a run: what they do not share is refused by
// its name.
Result<void> read_train(const RawAnswers& raw, PlannerOptions& options) {
  if (!raw.train && raw.sparse) return not_so("--sparse is of a step of training: give --train");
  if (!raw.train) return {};
  options.train = true;
  options.sparse = raw.sparse;
  if (options.command != Command::plan) return not_so("--train is for planning: leave it out of this command");
  if (options.model.empty()) return not_so("--train is for one model: give --model FILE");
  Pins others = options.pins;
  others.patch.reset();
  if (others != Pins()) return not_so("--train: of pins it takes --patch alone, not" + with_pins(others).substr(5));
  if (options.curve || raw.price) return not_so("--train and --curve or --price exclude each other");
  if (options.precision != Precision::fp32) return not_so("--train computes in float32: leave out --precision");
  if (options.split || options.strategy != Strategy::cpu) return not_so("--train is of the CPU: leave out --strategy");
  if (options.volume) return not_so("--train plans one patch: leave out --volume");
  if (!options.force.empty()) return not_so("--train takes primitives of --enable and --disable: leave out --force");
  const bool of_a_plan = options.json || options.k8s_resources || !options.output.empty() || !options.report.empty();
  if (of_a_plan) return not_so("--train prints text: leave out --json, --k8s-resources, --output and --report");
  if (options.patience != Patience::measure) return {};
  return not_so("--train measures nothing: leave out --patience measure");
}

}  // namespace

void add_answer_flags(CLI::App& app, RawAnswers& raw) {
  app.add_option("--machine", raw.machines,
                 "timings of another machine, to plan for that one (docs/timings.md); with --price "
                 "FILE=DOLLARS_PER_HOUR, once for each machine")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--curve", raw.curve,
                 "the best predicted rates in a range of memory limits, in place of a plan: --curve 1G..256G");
  app.add_flag("--price", raw.price,
               "a price list of machines in place of a plan: voxels per second and per dollar, with --volume hours and "
               "cost");
  app.add_option("--within", raw.within, "with --price: the time that --volume may take, such as 24h");
  app.add_flag("--train", raw.train,
               "one step of training on the CPU, in place of a plan: its predicted time and memory for --patch, or the "
               "fastest patch, within --mem; with --explain call by call");
  app.add_flag("--sparse", raw.sparse,
               "with --train: a step of sparse training, where poolings keep the first of their offsets");
}

Result<void> read_answers(const RawAnswers& raw, PlannerOptions& options) {
  if (Result<void> read = read_machines(raw, options); !read) return read;
  if (Result<void> read = read_within(raw, options); !read) return read;
  if (Result<void> read = read_curve(raw, options); !read) return read;
  return read_train(raw, options);
}

}  // namespace znni
