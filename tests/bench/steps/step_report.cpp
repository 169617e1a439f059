#include "tests/bench/steps/step_report.hpp"

#include <algorithm>
#include <utility>

#include "planner/base/text_table.hpp"
#include "primitives/core/index.hpp"
#include "tests/bench/median.hpp"
#include "tests/bench/report_json.hpp"

namespace znni::bench {
namespace {

using Json = nlohmann::ordered_json;

// Medians and minima of runs.
struct Summary {
  std::vector<Seconds> wall;
  std::vector<Seconds> processor;

  explicit Summary(const std::vector<RunTime>& runs) {
    for (const RunTime& run : runs) {
      wall.push_back(run.wall);
      processor.push_back(run.processor);
    }
  }
};

Seconds best(const std::vector<Seconds>& seconds) { return *std::min_element(seconds.begin(), seconds.end()); }

std::string part_name(const CallTimes& one) { return std::string(step_parts[index(one.part)]); }

TextRow times_row(std::string part, std::string primitive, Seconds predicted, const Summary& of) {
  return {std::move(part),
          std::move(primitive),
          milliseconds(predicted),
          milliseconds(best(of.wall)),
          milliseconds(median(of.wall)),
          milliseconds(best(of.processor)),
          milliseconds(median(of.processor))};
}

TextRow row(const CallTimes& one) {
  const PrimitiveTimes& times = one.times;
  TextRow cells = times_row(part_name(one), times.primitive, one.predicted, Summary(times.runs));
  for (std::string& cell :
       TextRow{bytes_text(times.persistent_bytes), bytes_text(times.transient_bytes), scientific(times.error),
               to_string(times.variant) + (times.variant.empty() ? "" : " ") + to_string(times.in)}) {
    cells.push_back(std::move(cell));
  }
  return cells;
}

// Returns the table of the planned calls, or of the others.
std::string table(const StepReport& report, bool planned) {
  std::vector<TextRow> rows = {{"computes", "primitive", "predicted", "best", "median", "best, processor",
                                "median, processor", "persistent", "transient", "error", "variant"}};
  std::string refusals;
  for (const CallTimes& one : report.calls) {
    if (one.is_planned != planned) continue;
    if (one.times.ran()) {
      rows.push_back(row(one));
    } else {
      refusals += part_name(one) + ": " + one.times.primitive + " did not run: " + one.times.refusal + "\n";
    }
  }
  if (planned) {
    TextRow sum = times_row("step", "", predicted_step(report.calls), Summary(step_runs(report.calls)));
    sum.resize(rows.front().size());
    rows.push_back(std::move(sum));
  }
  return (rows.size() > 1 ? text_table(rows) : "") + refusals;
}

void add_times(Json& object, Seconds predicted, const Summary& of) {
  object["predicted_seconds"] = predicted;
  object["seconds"] = median(of.wall);
  object["best_seconds"] = best(of.wall);
  object["processor_seconds_per_thread"] = median(of.processor);
  object["best_processor_seconds_per_thread"] = best(of.processor);
  object["runs"] = of.wall;
  object["processor_runs"] = of.processor;
}

Json call_json(const StepReport& report, const CallTimes& one) {
  const PrimitiveTimes& times = one.times;
  Json object = {{"part", part_name(one)}, {"primitive", times.primitive}};
  if (!times.ran()) {
    object["refusal"] = times.refusal;
    return object;
  }
  object["variant"] = to_string(times.variant);
  object["in"] = to_string(times.in);
  object["out"] = to_string(times.out);
  object["tried"] = times.tried;
  add_times(object, one.predicted, Summary(times.runs));
  const bool reorders = times.primitive == "cpu.reorder";
  object["effective_flops_per_second"] = reorders ? Json() : Json(direct_flops(report.problem) / times.median_wall());
  object["persistent_bytes"] = times.persistent_bytes;
  object["transient_bytes"] = times.transient_bytes;
  object["error"] = times.error;
  return object;
}

bool has_others(const StepReport& report) {
  return std::any_of(report.calls.begin(), report.calls.end(), [](const CallTimes& one) { return !one.is_planned; });
}

}  // namespace

std::string step_text(const StepReport& report) {
  std::string text = head_text(report) + "\nA step as planned within " + bytes_text(report.memory) +
                     ", milliseconds:\n\n" + table(report, true);
  if (has_others(report)) text += "\nOther primitives, each in its fastest way:\n\n" + table(report, false);
  return text +
         "\nall with preparing, because kernels change in every step; best and median of each row by itself;\n"
         "processor: per thread; error: of sampled results, over their root mean square\n";
}

std::string step_json(const StepReport& report) {
  Json object = head_json(report);
  object["mem"] = report.memory;
  add_times(object, predicted_step(report.calls), Summary(step_runs(report.calls)));
  object["calls"] = object["others"] = Json::array();
  for (const CallTimes& one : report.calls) {
    object[one.is_planned ? "calls" : "others"].push_back(call_json(report, one));
  }
  return object.dump(2) + "\n";
}

}  // namespace znni::bench
