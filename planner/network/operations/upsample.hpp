// Rules of upsamplings.
#pragma once

#include "planner/network/operations/bounds.hpp"
#include "planner/network/operations/rules.hpp"
#include "planner/network/swap_axes.hpp"

namespace znni {

template <>
struct OperationRules<Upsample> : RulesOfOneVoxel<Upsample> {
  static OperationTraits traits(const Upsample& up) {
    OperationTraits own{"upsample", "upsampling", Origin::other, true, std::nullopt, {}};
    if (up.kind == UpsampleKind::linear) own.pads_with = OutsideKind::edge;
    if (up.kind == UpsampleKind::aligned) own.over_all = {"align corners of", "aligns the corners of"};
    return own;
  }

  static Reading reading(const Upsample& up) {
    return {upsampling_window(up.kind, up.factor), Vec3::cube(1), up.factor, {}, Resizing::always};
  }

  static Result<void> check(const Upsample& up, int spatial_rank) {
    return check_positive("factor", up.factor, spatial_rank);
  }

  // Checks that an upsampling gives back strides that nodes before it have taken, and that a shuffle has whole groups
  // of channels.
  static Result<void> check_meeting(const Upsample& up, std::span<const InputValue> inputs) {
    const InputValue& in = inputs.front();
    if (in.reach.stride % up.factor != Vec3{}) {
      return invalid_operation("upsamples by " + to_string(up.factor) + ", but its input has a stride of " +
                               to_string(in.reach.stride) + ": an output finer than the input is not supported");
    }
    if (up.kind != UpsampleKind::shuffle || in.channels % voxels(up.factor) == 0) return {};
    return invalid_operation("shuffles " + std::to_string(in.channels) + " channels to " +
                             std::to_string(voxels(up.factor)) + " voxels each, which does not divide");
  }

  static std::int64_t channels(const Upsample& up, const std::vector<int>& read,
                               const std::vector<std::int64_t>& channels) {
    const std::int64_t f = channels[index(read.front())];
    return up.kind == UpsampleKind::shuffle ? f / voxels(up.factor) : f;
  }

  static void swap_own_axes(Upsample& up, int axis) { up.factor = swap_axes(up.factor, axis); }

  static UpsampleProblem problem(const Upsample& up, const NodeInputs& in) {
    return {in.shapes.front(), up.factor, up.kind};
  }

  static std::string text(const Upsample& up, std::int64_t f, bool) {
    return "upsample " + std::to_string(f) + ", " + std::string(to_string(up.kind)) + ", factor " +
           to_string(up.factor);
  }
};

}  // namespace znni
