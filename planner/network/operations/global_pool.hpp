// Rules of poolings of all voxels.
#pragma once

#include "planner/network/operations/rules.hpp"

namespace znni {

template <>
struct OperationRules<GlobalPool> : RulesOfOneVoxel<GlobalPool> {
  static OperationTraits traits(const GlobalPool&) {
    return {"global_pool", "global pooling", Origin::other, false, std::nullopt, {"pool", "pools"}};
  }
  static GlobalPoolProblem problem(const GlobalPool& pool, const NodeInputs& in) {
    return {in.shapes.front(), pool.kind};
  }

  static std::string text(const GlobalPool& pool, std::int64_t f, bool) {
    return (pool.kind == PoolKind::max ? "global max " : "global mean ") + std::to_string(f);
  }
};

}  // namespace znni
