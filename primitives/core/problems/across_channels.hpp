// Rules of operations over the channels of a voxel.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

template <>
struct ProblemRules<AcrossChannelsProblem> : RulesOfOneInput<AcrossChannelsProblem> {
  static Shape5 output(const AcrossChannelsProblem& across) {
    return {across.in.S, makes_one_channel(across.kind) ? 1 : across.in.f, across.in.n};
  }

  static Result<void> check(const AcrossChannelsProblem& across) {
    if (Result<void> sound = check_shape(across.in); !sound) return sound;
    return check_epsilon(across.epsilon);
  }

  static double flops(const AcrossChannelsProblem& across) { return static_cast<double>(elements(across.in)); }

  static std::string text(const AcrossChannelsProblem& p) {
    return std::string(to_string(p.kind)) + " " + to_string(p.in);
  }

  static std::optional<AcrossChannelsProblem> parse(TextPieces pieces) {
    // "arg max last" before "arg max", which it begins with.
    for (const AcrossKind kind : {AcrossKind::softmax, AcrossKind::log_softmax, AcrossKind::arg_max_last,
                                  AcrossKind::arg_max, AcrossKind::norm}) {
      if (!pieces.take(std::string(to_string(kind)) + " ")) continue;
      const std::optional<Shape5> in = pieces.shape();
      if (!in || !pieces.is_empty()) return std::nullopt;
      return AcrossChannelsProblem{*in, kind};
    }
    return std::nullopt;
  }

  static std::size_t hash(const AcrossChannelsProblem& p) {
    return hashed(hashed(hashed(0, p.in), static_cast<std::int64_t>(p.kind)), p.epsilon);
  }
};

}  // namespace znni
