// Operations over the channels of a voxel: the problem and its rules.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

enum class AcrossKind { softmax, log_softmax, arg_max, arg_max_last, norm, unit };

// Makes a voxel of its own channels alone. With x[i] its value in channel i, and m the largest of them,
// softmax: out[i] = e^(x[i] - m) / sum over j of e^(x[j] - m).
// log_softmax: out[i] = x[i] - m - log(sum over j of e^(x[j] - m)).
// arg_max: the number of the first channel whose value is m; arg_max_last: of the last one. The output has one channel.
// norm: layer normalisation, out[i] = (x[i] - mean) / sqrt(variance + epsilon), with the variance of the population.
// unit: unit length, out[i] = x[i] / max(epsilon, sqrt(sum over j of x[j]^2)).
// A voxel that is NaN in one channel becomes NaN in each channel of the output.
struct AcrossChannelsProblem {
  Shape5 in;
  AcrossKind kind = AcrossKind::softmax;
  float epsilon = 1e-5F;  // of a norm and of unit length; above 0
  constexpr auto operator<=>(const AcrossChannelsProblem&) const = default;
};

// Returns whether the operation makes one channel of all.
[[nodiscard]] constexpr bool makes_one_channel(AcrossKind kind) {
  return kind == AcrossKind::arg_max || kind == AcrossKind::arg_max_last;
}

// Returns the name of the operation; of a norm "channel norm", of unit "unit length".
[[nodiscard]] std::string_view to_string(AcrossKind kind);

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
                                  AcrossKind::arg_max, AcrossKind::norm, AcrossKind::unit}) {
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
