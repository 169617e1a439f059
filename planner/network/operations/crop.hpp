// Rules of crops.
#pragma once

#include "planner/network/operations/bounds.hpp"
#include "planner/network/operations/rules.hpp"
#include "planner/network/swap_axes.hpp"

namespace znni {

template <>
struct OperationRules<Crop> : RulesOfOneVoxel<Crop> {
  static OperationTraits traits(const Crop& crop) {
    return {"crop", "crop", Origin::copied, true, crop.reflects ? OutsideKind::reflect : OutsideKind::edge, {}};
  }

  static Reading reading(const Crop& crop) {
    return {crop.begin + crop.end + Vec3::cube(1), Vec3::cube(1), Vec3::cube(1), {crop.begin, crop.end}};
  }

  static Result<void> check(const Crop& crop, int spatial_rank) {
    if (Result<void> sound = check_within("begin", crop.begin, 0, spatial_rank); !sound) return sound;
    return check_within("end", crop.end, 0, spatial_rank);
  }

  static void swap_own_axes(Crop& crop, int axis) {
    crop.begin = swap_axes(crop.begin, axis);
    crop.end = swap_axes(crop.end, axis);
  }

  static CropProblem problem(const Crop& crop, const NodeInputs& in) {
    return {in.shapes.front(), crop.begin * in.begin_axes, crop.end * in.end_axes};
  }

  static std::string text(const Crop& crop, std::int64_t f, bool) {
    return "crop " + std::to_string(f) + ", begin " + to_string(crop.begin) + ", end " + to_string(crop.end);
  }
};

}  // namespace znni
