// Crops: the problem and its rules.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

// out[v] = in[begin + v]: the input without the first `begin` and the last `end` voxels of each axis.
struct CropProblem {
  Shape5 in;
  Vec3 begin;
  Vec3 end;
  constexpr auto operator<=>(const CropProblem&) const = default;
};

template <>
struct ProblemRules<CropProblem> : RulesOfOneInput<CropProblem> {
  static Shape5 output(const CropProblem& crop) { return {crop.in.S, crop.in.f, crop.in.n - crop.begin - crop.end}; }

  // Fails unless at least one voxel stays on each axis.
  static Result<void> check(const CropProblem& crop) {
    if (Result<void> sound = check_shape(crop.in); !sound) return sound;
    for (int axis = 0; axis < 3; ++axis) {
      for (const auto& [name, value] : {std::pair{"begin", crop.begin}, std::pair{"end", crop.end}}) {
        if (value[axis] >= 0) continue;
        return invalid_problem(axis_text(name, axis) + " = " + std::to_string(value[axis]) + " is below 0");
      }
      if (add(crop.begin[axis], crop.end[axis]) < crop.in.n[axis]) continue;
      return invalid_problem(axis_text("n", axis) + " = " + std::to_string(crop.in.n[axis]) +
                             " leaves nothing between begin " + std::to_string(crop.begin[axis]) + " and end " +
                             std::to_string(crop.end[axis]));
    }
    return {};
  }

  static std::string text(const CropProblem& p) {
    return "crop " + to_string(p.in) + ", begin " + to_string(p.begin) + ", end " + to_string(p.end);
  }

  static std::optional<CropProblem> parse(TextPieces pieces) {
    if (!pieces.take("crop ")) return std::nullopt;
    const std::optional<Shape5> in = pieces.shape();
    if (!in || !pieces.take(", begin ")) return std::nullopt;
    const std::optional<Vec3> begin = pieces.extent();
    if (!begin || !pieces.take(", end ")) return std::nullopt;
    const std::optional<Vec3> end = pieces.extent();
    if (!end || !pieces.is_empty()) return std::nullopt;
    return CropProblem{*in, *begin, *end};
  }

  static std::size_t hash(const CropProblem& p) { return hashed(hashed(hashed(0, p.in), p.begin), p.end); }
};

}  // namespace znni
