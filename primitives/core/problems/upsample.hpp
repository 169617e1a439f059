// Upsamplings: the problem and its rules.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

enum class UpsampleKind { nearest, shuffle, linear, aligned };

// A tensor with `factor` times as many voxels per axis, of inner voxels where it interpolates.
// nearest: every voxel is repeated, out[s][i][v] = in[s][i][v / factor].
// shuffle: channels become voxels, the last step of a transposed convolution whose stride is its kernel's extent. in.f
// is f_out * voxels(factor), and out[s][j][factor * v + o] = in[s][phase(o) * f_out + j][v] for every offset o in [0,
// factor). phase(o) is the row-major (z, y, x) index of o. linear: along each axis whose factor m is above 1, n voxels
// give m (n - 2). Voxel m c + r of these is (1 - t) in[c + b] + t in[c + b + 1]; b + t = (r + 1/2) / m + 1/2, b is 0 or
// 1 and t in [0, 1). That is ONNX's Resize at half_pixel coordinates of all voxels but the first and the last, which
// are read as neighbours. aligned: along each axis whose factor m is above 1, n voxels give m n. Voxel v of these lies
// at v (n - 1) / (m n - 1), between the two of the input beside it: the first and the last one stay where they are. If
// there is one voxel, all are copies of it. That is ONNX's Resize with aligned corners; where a voxel lies depends on
// the whole extent.
struct UpsampleProblem {
  Shape5 in;
  Vec3 factor = Vec3::cube(2);
  UpsampleKind kind = UpsampleKind::nearest;
  constexpr auto operator<=>(const UpsampleProblem&) const = default;
};

// Returns the voxels per axis around the one of which an upsampling of this kind makes `factor`: 3 where it
// interpolates, else 1.
[[nodiscard]] Vec3 upsampling_window(UpsampleKind kind, Vec3 factor);

[[nodiscard]] std::string_view to_string(UpsampleKind kind);

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
