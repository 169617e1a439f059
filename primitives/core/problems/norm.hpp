// Instance and group normalisations: the problem and its rules.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

enum class NormKind { deviation, response };

// deviation: instance and group normalisation. With m the mean and v the variance (of the population) of all voxels of
// a group of f / groups neighbouring channels of one input,
//   out = activation(scale[i] (in - m) / sqrt(v + epsilon) + shift[i]) for channel i.
// groups = f is an instance normalisation; groups = 1 normalises all channels together.
// response: global response normalisation (ConvNeXt V2). With r[i] the root of the sum of in^2 over all voxels of
// channel i, and r the mean of those of its group,
//   out = activation(scale[i] in r[i] / (r + epsilon) + shift[i]).
struct NormProblem {
  Shape5 in;
  std::int64_t groups = 1;  // divides in.f
  float epsilon = 1e-5F;    // above 0
  Activation activation = {};
  NormKind kind = NormKind::deviation;
  constexpr auto operator<=>(const NormProblem&) const = default;
};

template <>
struct ProblemRules<NormProblem> : RulesOfOneInput<NormProblem> {
  static bool has_scale(const NormProblem&) { return true; }

  static Result<void> check(const NormProblem& norm) {
    if (Result<void> sound = check_shape(norm.in); !sound) return sound;
    if (norm.groups < 1 || norm.in.f % norm.groups != 0) {
      return invalid_problem("f = " + std::to_string(norm.in.f) +
                             " is not a multiple of groups = " + std::to_string(norm.groups));
    }
    return check_epsilon(norm.epsilon);
  }

  // Returns the operations of a sum and a sum of squares, then of a product and a sum.
  static double flops(const NormProblem& norm) { return 5.0 * static_cast<double>(elements(norm.in)); }

  static std::string text(const NormProblem& norm) {
    const std::string name = norm.kind == NormKind::response ? "response norm " : "norm ";
    return name + to_string(norm.in) + ", groups " + std::to_string(norm.groups) + activation_text(norm.activation);
  }

  static std::optional<NormProblem> parse(TextPieces pieces) {
    const bool is_response = pieces.take("response norm ");
    if (!is_response && !pieces.take("norm ")) return std::nullopt;
    const std::optional<Shape5> in = pieces.shape();
    if (!in || !pieces.take(", groups ")) return std::nullopt;
    const std::optional<std::int64_t> groups = pieces.number<std::int64_t>();
    if (!groups) return std::nullopt;
    const std::optional<Activation> fused = pieces.activation();
    if (!fused || !pieces.is_empty()) return std::nullopt;
    NormProblem norm{*in, *groups};
    norm.activation = *fused;
    if (is_response) norm.kind = NormKind::response;
    return norm;
  }

  static std::size_t hash(const NormProblem& p) {
    const std::size_t own = hashed(hashed(hashed(hashed(0, p.in), p.groups), p.epsilon), p.activation);
    return p.kind == NormKind::deviation ? own : hashed(own, static_cast<std::int64_t>(p.kind));
  }
};

}  // namespace znni
