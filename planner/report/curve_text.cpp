#include "planner/report/curve_text.hpp"

#include "planner/base/text_table.hpp"
#include "planner/report/json.hpp"

namespace znni {
namespace {

bool fits(const CurveSample& sample) { return sample.voxels_per_second > 0; }

TextRow sample_row(const std::string& strategy, const CurveSample& sample) {
  const std::string limit = bytes_text(sample.limit);
  if (!fits(sample)) return {strategy, limit, "", "", "nothing fits"};
  return {strategy, limit, count_text(sample.voxels_per_second), bytes_text(sample.bytes),
          to_string(sample.patch_input)};
}

Json sample_json(const CurveSample& sample) {
  const bool own = fits(sample);
  return {{"memory_limit", sample.limit},
          {"voxels_per_second", own ? Json(sample.voxels_per_second) : Json(nullptr)},
          {"bytes", own ? Json(sample.bytes) : Json(nullptr)},
          {"patch_input", own ? json_of(sample.patch_input) : Json(nullptr)}};
}

}  // namespace

std::string curves_table(const CurveSubject& subject, const std::vector<StrategyCurves>& curves) {
  std::vector<TextRow> rows = {{"strategy", "memory limit", "voxels/s", "takes", "patch"}};
  for (const StrategyCurves& own : curves) {
    for (const CurveSample& sample : own.memory) rows.push_back(sample_row(own.strategy, sample));
  }
  const std::string volume = subject.volume ? "a volume of " + to_string(*subject.volume) : "an endless volume";
  return subject.network + " on " + subject.device + ", predicted in " + volume + "\n" + text_table(rows);
}

std::string curves_json(const CurveSubject& subject, const std::vector<StrategyCurves>& curves) {
  Json all = {{"model", subject.network},
              {"device", subject.device},
              {"volume", subject.volume ? json_of(*subject.volume) : Json(nullptr)}};
  all["curves"] = Json::array();
  for (const StrategyCurves& own : curves) {
    Json samples = Json::array();
    for (const CurveSample& sample : own.memory) samples.push_back(sample_json(sample));
    all["curves"].push_back({{"strategy", own.strategy}, {"samples", std::move(samples)}});
  }
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace znni
