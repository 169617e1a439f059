// Concatenations of channels: the problem and its rules.
#pragma once

#include <vector>

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

// Channels of all inputs, one input after the other; S and n are the same in all.
struct ConcatProblem {
  std::vector<Shape5> in;
  auto operator<=>(const ConcatProblem&) const = default;
};

template <>
struct ProblemRules<ConcatProblem> : RulesOfOneInput<ConcatProblem> {
  static int input_count(const ConcatProblem& concat) { return static_cast<int>(concat.in.size()); }
  static Shape5 input(const ConcatProblem& concat, int index) { return concat.in[static_cast<std::size_t>(index)]; }

  static Shape5 output(const ConcatProblem& concat) {
    Shape5 shape = concat.in.front();
    for (std::size_t i = 1; i < concat.in.size(); ++i) shape.f = add(shape.f, concat.in[i].f);
    return shape;
  }

  static Result<void> check(const ConcatProblem& concat) {
    if (concat.in.empty()) return invalid_problem("a concatenation needs an input");
    for (const Shape5& shape : concat.in) {
      if (Result<void> sound = check_shape(shape); !sound) return sound;
      if (shape.S != concat.in[0].S || shape.n != concat.in[0].n) {
        return invalid_problem("cannot concatenate " + to_string(concat.in[0]) + " with " + to_string(shape) +
                               ": S and n must be equal");
      }
    }
    return check_shape(output(concat));
  }

  static std::string text(const ConcatProblem& concat) {
    std::string text = "concat";
    for (const Shape5& shape : concat.in) text += (text.size() == 6 ? " " : " + ") + to_string(shape);
    return text;
  }

  static std::optional<ConcatProblem> parse(TextPieces pieces) {
    if (!pieces.take("concat ")) return std::nullopt;
    ConcatProblem concat;
    do {
      const std::optional<Shape5> in = pieces.shape();
      if (!in) return std::nullopt;
      concat.in.push_back(*in);
    } while (pieces.take(" + "));
    return pieces.is_empty() ? std::optional(concat) : std::nullopt;
  }

  static std::size_t hash(const ConcatProblem& p) {
    std::size_t seed = 0;
    for (const Shape5& shape : p.in) seed = hashed(seed, shape);
    return seed;
  }
};

}  // namespace znni
