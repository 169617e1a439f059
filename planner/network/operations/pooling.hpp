// Rules of poolings.
#pragma once

#include "planner/network/operations/bounds.hpp"
#include "planner/network/operations/rules.hpp"
#include "planner/network/swap_axes.hpp"

namespace znni {

template <>
struct OperationRules<Pooling> : RulesOfOneVoxel<Pooling> {
  static OperationTraits traits(const Pooling& pool) {
    const OutsideKind pads = pool.kind == PoolKind::average ? OutsideKind::zero : OutsideKind::lowest;
    return {"pool", pool.kind == PoolKind::max ? "max pooling" : "average pooling", Origin::other, false, pads, {}};
  }

  static Reading reading(const Pooling& pool) {
    return {dilated(pool.window, pool.dilation),
            pool.stride,
            Vec3::cube(1),
            {},
            pool.strided ? Resizing::always : Resizing::never};
  }

  static Result<void> check(const Pooling& pool, int spatial_rank) {
    if (Result<void> sound = check_positive("window", pool.window, spatial_rank); !sound) return sound;
    if (Result<void> sound = check_positive("dilation", pool.dilation, 3); !sound) return sound;
    return check_positive("stride", pool.stride, spatial_rank);
  }

  static void swap_own_axes(Pooling& pool, int axis) {
    pool.window = swap_axes(pool.window, axis);
    pool.stride = swap_axes(pool.stride, axis);
    pool.dilation = swap_axes(pool.dilation, axis);
  }

  // One fragment is the plain pooling. That of averages without pads, which no primitive makes fragments of, is named
  // so.
  static PoolProblem problem(const Pooling& pool, const NodeInputs& in) {
    const bool is_plain = pool.kind == PoolKind::average_inside && pool.stride == Vec3::cube(1);
    const PoolMode mode = is_plain ? PoolMode::plain : in.mode;
    return {in.shapes.front(), pool.window, pool.stride, pool.kind, mode, in.fragments, in.groups, pool.dilation};
  }

  static std::string text(const Pooling& pool, std::int64_t f, bool) {
    std::string text(pooling_words(pool.kind));
    text += " " + std::to_string(f) + ", window " + to_string(pool.window);
    if (pool.dilation != Vec3::cube(1)) text += ", dilation " + to_string(pool.dilation);
    return text + ", stride " + to_string(pool.stride) + (pool.strided ? ", strided" : "");
  }
};

}  // namespace znni
