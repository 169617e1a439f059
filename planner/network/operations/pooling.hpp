// Rules of poolings.
#pragma once

#include "planner/network/operations/bounds.hpp"
#include "planner/network/operations/rules.hpp"
#include "planner/network/swap_axes.hpp"

namespace znni {

template <>
struct OperationRules<Pooling> : RulesOfOneVoxel<Pooling> {
  static OperationTraits traits(const Pooling& pool) {
    if (pool.kind == PoolKind::max) return {"pool", "max pooling", Origin::other, false, OutsideKind::lowest, {}};
    return {"pool", "average pooling", Origin::other, false, OutsideKind::zero, {}};
  }

  static Reading reading(const Pooling& pool) {
    return {pool.window, pool.stride, Vec3::cube(1), {}, pool.strided ? Resizing::always : Resizing::never};
  }

  static Result<void> check(const Pooling& pool, int spatial_rank) {
    if (Result<void> sound = check_positive("window", pool.window, spatial_rank); !sound) return sound;
    return check_positive("stride", pool.stride, spatial_rank);
  }

  static void swap_own_axes(Pooling& pool, int axis) {
    pool.window = swap_axes(pool.window, axis);
    pool.stride = swap_axes(pool.stride, axis);
  }

  static PoolProblem problem(const Pooling& pool, const NodeInputs& in) {
    return {in.shapes.front(), pool.window, pool.stride, pool.kind, in.mode, in.fragments, in.groups};
  }

  static std::string text(const Pooling& pool, std::int64_t f, bool) {
    return (pool.kind == PoolKind::max ? "max pool " : "average pool ") + std::to_string(f) + ", window " +
           to_string(pool.window) + ", stride " + to_string(pool.stride) + (pool.strided ? ", strided" : "");
  }
};

}  // namespace znni
