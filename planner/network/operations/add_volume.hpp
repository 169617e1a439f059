// Rules of sums with a constant volume.
#pragma once

#include "planner/network/operations/bounds.hpp"
#include "planner/network/operations/rules.hpp"
#include "planner/network/swap_axes.hpp"

namespace znni {

template <>
struct OperationRules<AddVolume> : RulesOfOneVoxel<AddVolume> {
  static OperationTraits traits(const AddVolume&) {
    return {"add_volume", "sum with a volume", Origin::other, false, std::nullopt, {"add to", "adds numbers to"}};
  }

  static Result<void> check(const AddVolume& own, int spatial_rank) {
    return check_positive("extent", own.extent, spatial_rank);
  }

  static WeightSizes weights(const AddVolume& own, std::int64_t f) { return {0, 0, 0, mul(f, voxels(own.extent))}; }

  static void swap_own_axes(AddVolume& own, int axis) { own.extent = swap_axes(own.extent, axis); }

  static AddVolumeProblem problem(const AddVolume& own, const NodeInputs& in) {
    return {in.shapes.front(), own.extent};
  }

  static std::string text(const AddVolume& own, std::int64_t f, bool) {
    return "add volume " + std::to_string(f) + ", extent " + to_string(own.extent);
  }
};

}  // namespace znni
