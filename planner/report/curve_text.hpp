// `planner --curve`: what memory is worth, for people and, with --json, for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/report/curves.hpp"

namespace znni {

// Names what was sampled.
struct CurveSubject {
  std::string network;
  std::string device;
  std::optional<Vec3> volume;  // nothing: a volume without end
};

// Makes a row for every limit of every strategy, under a line that names the subject.
[[nodiscard]] std::string curves_table(const CurveSubject& subject, const std::vector<StrategyCurves>& curves);

// Makes one object: model, device, volume (null: an endless one), curves (strategy, samples), and of each sample
// memory_limit, voxels_per_second, bytes of the plan and patch_input [z, y, x]; these are null where nothing fits. Two
// blanks of indent, a line's end at the end.
[[nodiscard]] std::string curves_json(const CurveSubject& subject, const std::vector<StrategyCurves>& curves);

}  // namespace znni
