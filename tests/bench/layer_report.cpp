#include "tests/bench/layer_report.hpp"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "planner/base/text_table.hpp"

namespace znni::bench {
namespace {

using Json = nlohmann::ordered_json;

double effective_flops(const LayerReport& report, const PrimitiveTimes& times) {
  return direct_flops(report.problem) / times.median_wall();
}

std::string giga(double number, int digits) { return fixed_text(number / 1e9, digits); }
std::string milliseconds(Seconds seconds) { return fixed_text(1e3 * seconds, 2); }

std::string scientific(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1e", number);
  return text.data();
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

std::string head(const LayerReport& report) {
  return "layer      " + to_string(LayerProblem(report.problem)) + "\nmachine    " + report.device + ", load " +
         fixed_text(report.machine.load, 2) + "\nmeasured   " + giga(report.machine.flops_per_second, 0) +
         " GFLOP/s of multiply-adds, " + giga(report.machine.read_bytes_per_second, 1) +
         " GB/s read from memory, all threads\n";
}

Json extents(Vec3 n) { return {n.z, n.y, n.x}; }

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
  return head(report) + "\n" + text_table(rows) + refusals +
         "\nms: medians; processor ms: per thread; GFLOP/s: what the direct algorithm would need; speed: over " +
         report.primitives.back().primitive + ";\nerror: of sampled outputs, over their root mean square\n";
}

std::string layer_json(const LayerReport& report) {
  Json primitives = Json::array();
  for (const PrimitiveTimes& times : report.primitives) primitives.push_back(primitive_json(report, times));
  const ConvProblem& problem = report.problem;
  const Json object = {{"problem", to_string(LayerProblem(problem))},
                       {"f", problem.in.f},
                       {"f_out", problem.f_out},
                       {"k", extents(problem.k)},
                       {"n", extents(problem.in.n)},
                       {"S", problem.in.S},
                       {"device", report.device},
                       {"threads", report.threads},
                       {"flops_per_second", report.machine.flops_per_second},
                       {"read_bytes_per_second", report.machine.read_bytes_per_second},
                       {"load", report.machine.load},
                       {"primitives", std::move(primitives)}};
  return object.dump(2) + "\n";
}

}  // namespace znni::bench
