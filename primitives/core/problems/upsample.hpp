// Rules of upsamplings.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

template <>
struct ProblemRules<UpsampleProblem> : RulesOfOneInput<UpsampleProblem> {
  static Shape5 output(const UpsampleProblem& upsample) {
    const std::int64_t phases = upsample.kind == UpsampleKind::shuffle ? voxels(upsample.factor) : 1;
    const Vec3 inner = upsample.in.n - upsampling_window(upsample.kind, upsample.factor) + Vec3::cube(1);
    return {upsample.in.S, upsample.in.f / phases, inner * upsample.factor};
  }

  static Result<void> check(const UpsampleProblem& upsample) {
    if (Result<void> sound = check_shape(upsample.in); !sound) return sound;
    if (Result<void> positive = check_positive("factor", upsample.factor); !positive) return positive;
    const std::int64_t phases = voxels(upsample.factor);
    if (upsample.kind == UpsampleKind::shuffle && upsample.in.f % phases != 0) {
      return invalid_problem("f = " + std::to_string(upsample.in.f) + " is not a multiple of the " +
                             std::to_string(phases) + " voxels of the factor " + to_string(upsample.factor));
    }
    if (Result<void> covers_window = check_covers(upsample.in.n, upsampling_window(upsample.kind, upsample.factor));
        !covers_window) {
      return covers_window;
    }
    return check_shape(output(upsample));
  }

  static double flops(const UpsampleProblem& upsample) {
    const auto count = static_cast<double>(elements(output(upsample)));
    const bool interpolates = upsample.kind == UpsampleKind::linear || upsample.kind == UpsampleKind::aligned;
    // It interpolates between two voxels along each axis with a factor.
    const std::int64_t neighbours = voxels(min(upsample.factor, Vec3::cube(2)));
    return interpolates ? count * 2 * static_cast<double>(neighbours) : count;
  }

  static std::string text(const UpsampleProblem& upsample) {
    std::string text = "upsample ";
    text.append(to_string(upsample.kind)).append(" ").append(to_string(upsample.in));
    return text.append(", factor ").append(to_string(upsample.factor));
  }

  static std::optional<UpsampleProblem> parse(TextPieces pieces) {
    if (!pieces.take("upsample ")) return std::nullopt;
    for (const UpsampleKind kind :
         {UpsampleKind::nearest, UpsampleKind::shuffle, UpsampleKind::linear, UpsampleKind::aligned}) {
      if (!pieces.take(std::string(to_string(kind)) + " ")) continue;
      const std::optional<Shape5> in = pieces.shape();
      if (!in || !pieces.take(", factor ")) return std::nullopt;
      const std::optional<Vec3> factor = pieces.extent();
      if (!factor || !pieces.is_empty()) return std::nullopt;
      return UpsampleProblem{*in, *factor, kind};
    }
    return std::nullopt;
  }

  static std::size_t hash(const UpsampleProblem& p) {
    return hashed(hashed(hashed(0, p.in), p.factor), static_cast<std::int64_t>(p.kind));
  }
};

}  // namespace znni
