#include "tests/bench/layers/layer_report.hpp"

#include <utility>

#include "planner/base/text_table.hpp"
#include "tests/bench/report_json.hpp"

namespace znni::bench {
namespace {

using Json = nlohmann::ordered_json;

double effective_flops(const LayerReport& report, const PrimitiveTimes& times) {
  return direct_flops(report.problem) / times.median_wall();
}

std::string speed_text(const PrimitiveTimes& times, const LayerReport& report) {
  const double speed = speed_over_last(times, report.primitives);
  return speed > 0 ? fixed_text(speed, 2) : "";
}

TextRow row(const LayerReport& report, const PrimitiveTimes& times) {
  return {times.primitive,
          milliseconds(times.median_wall()),
          milliseconds(times.median_processor()),
          giga(effective_flops(report, times), 0),
          speed_text(times, report),
          bytes_text(times.persistent_bytes),
          bytes_text(times.transient_bytes),
          scientific(times.error),
          to_string(times.variant) + (times.variant.empty() ? "" : " ") + to_string(times.in)};
}

Json primitive_json(const LayerReport& report, const PrimitiveTimes& times) {
  if (!times.ran()) return {{"primitive", times.primitive}, {"refusal", times.refusal}};
  Json runs = Json::array();
  for (const RunTime& run : times.runs) runs.push_back(run.wall);
  const double speed = speed_over_last(times, report.primitives);
  const std::optional<double> joules = times.median_joules();
  return {{"primitive", times.primitive},
          {"variant", to_string(times.variant)},
          {"in", to_string(times.in)},
          {"out", to_string(times.out)},
          {"tried", times.tried},
          {"seconds", times.median_wall()},
          {"processor_seconds_per_thread", times.median_processor()},
          {"joules", joules ? Json(*joules) : Json()},
          {"effective_flops_per_second", effective_flops(report, times)},
          {"speed_over_last", speed > 0 ? Json(speed) : Json()},
          {"persistent_bytes", times.persistent_bytes},
          {"transient_bytes", times.transient_bytes},
          {"error", times.error},
          {"runs", std::move(runs)}};
}

}  // namespace

std::string layer_text(const LayerReport& report) {
  std::vector<TextRow> rows = {
      {"primitive", "ms", "processor ms", "direct GFLOP/s", "speed", "persistent", "transient", "error", "variant"}};
  std::string refusals;
  for (const PrimitiveTimes& times : report.primitives) {
    if (times.ran()) {
      rows.push_back(row(report, times));
    } else {
      refusals += times.primitive + " did not run: " + times.refusal + "\n";
    }
  }
  return head_text(report) + "\n" + text_table(rows) + refusals +
         "\nms: medians; processor ms: per thread; GFLOP/s: what the direct algorithm would need; speed: over " +
         report.primitives.back().primitive + ";\nerror: of sampled outputs, over their root mean square\n";
}

std::string layer_json(const LayerReport& report) {
  Json primitives = Json::array();
  for (const PrimitiveTimes& times : report.primitives) primitives.push_back(primitive_json(report, times));
  Json object = head_json(report);
  object["primitives"] = std::move(primitives);
  return object.dump(2) + "\n";
}

}  // namespace znni::bench
