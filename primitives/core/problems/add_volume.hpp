// Sums with a constant volume: the problem and its rules.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

// out[s][i][v] = in[s][i][v] + shift[i][v]: each voxel of each channel has a number of its own, as position embeddings
// have. LayerWeights::shift is [f][z][y][x], of extent `extent`.
struct AddVolumeProblem {
  Shape5 in;
  Vec3 extent;  // in.n
  constexpr auto operator<=>(const AddVolumeProblem&) const = default;
};

template <>
struct ProblemRules<AddVolumeProblem> : RulesOfOneInput<AddVolumeProblem> {
  static Result<void> check(const AddVolumeProblem& own) {
    if (Result<void> sound = check_shape(own.in); !sound) return sound;
    if (own.in.n == own.extent) return {};
    return invalid_problem("the volume that is added has " + to_string(own.extent) + " voxels, its input " +
                           to_string(own.in.n));
  }

  static std::string text(const AddVolumeProblem& own) { return "add volume " + to_string(own.in); }

  static std::optional<AddVolumeProblem> parse(TextPieces pieces) {
    if (!pieces.take("add volume ")) return std::nullopt;
    const std::optional<Shape5> in = pieces.shape();
    if (!in || !pieces.is_empty()) return std::nullopt;
    return AddVolumeProblem{*in, in->n};
  }

  static std::size_t hash(const AddVolumeProblem& own) { return hashed(0, own.in); }
};

}  // namespace znni
