// Poolings: the problem and its rules.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

// A max may pass over a NaN in a window, but not in a pooling of all voxels. average_inside is the mean of those voxels
// of a window that are not -infinity, which stands where padding does; 0 if there are none. Only windows have it.
enum class PoolKind { max, average, average_inside };

// Returns what the kind's layers are called.
[[nodiscard]] constexpr std::string_view pooling_words(PoolKind kind) {
  return kind == PoolKind::max ? "max pool" : kind == PoolKind::average ? "average pool" : "inside average pool";
}

// plain: strided pooling, out[v] = pool of in[stride * v + dilation * d] over d in [0, window).
// fragments: max-pooling fragments (MPF; ZNNi section V): the pooling at every offset o in [0, stride). Each offset
// gives one input of its own, so S grows by the factor voxels(stride). The offsets follow the stride, so other windows
// and average pooling work too. It is legal if every fragment has the same extent, that is if (n - window + 1) is
// divisible by stride. A dilated window counts there with all that it spans. For window = stride this is the paper's
// condition, n + 1 divisible by p. With `groups`, one run makes only the fragments of the offsets [0, stride / groups)
// of each axis, and S grows by that factor. To make the next group, give the same layer a view that begins stride /
// groups voxels later (its extents are shorter by as much). A last window that no offset reaches is then left out.
enum class PoolMode { plain, fragments };

// The S of `in` is S0 * voxels(fragments); `fragments` counts, per axis, the fragments that earlier poolings made.
// Inputs stand in the order s = s0 * voxels(fragments) + row-major (z, y, x) fragment index. The index along an axis
// rises with the fragment's offset (primitives/core/fragments.hpp).
struct PoolProblem {
  Shape5 in;
  Vec3 window = Vec3::cube(2);
  Vec3 stride = Vec3::cube(2);
  PoolKind kind = PoolKind::max;
  PoolMode mode = PoolMode::plain;
  Vec3 fragments = Vec3::cube(1);
  Vec3 groups = Vec3::cube(1);  // divides the stride; 1 if the mode is plain
  Vec3 dilation = Vec3::cube(1);

  constexpr auto operator<=>(const PoolProblem&) const = default;
};

// Returns the number of offsets per axis for which one run makes fragments: 1 (plain) or stride / groups.
[[nodiscard]] constexpr Vec3 pooled_offsets(const PoolProblem& pool) {
  return pool.mode == PoolMode::plain ? Vec3::cube(1) : pool.stride / pool.groups;
}

// Returns the voxels that a window spans.
[[nodiscard]] constexpr Vec3 spanned(const PoolProblem& pool) { return dilated(pool.window, pool.dilation); }

template <>
struct ProblemRules<PoolProblem> : RulesOfOneInput<PoolProblem> {
  static Vec3 window(const PoolProblem& pool) { return pool.window; }

  static Shape5 output(const PoolProblem& pool) {
    const Vec3 offsets = pooled_offsets(pool);
    return {mul(pool.in.S, voxels(offsets)), pool.in.f,
            (pool.in.n - spanned(pool) - offsets + Vec3::cube(1)) / pool.stride + Vec3::cube(1)};
  }

  static Result<void> check(const PoolProblem& pool) {
    if (Result<void> sound = check_shape(pool.in); !sound) return sound;
    for (const auto& [name, value] :
         {std::pair{"window", pool.window}, std::pair{"stride", pool.stride}, std::pair{"fragments", pool.fragments},
          std::pair{"groups", pool.groups}, std::pair{"dilation", pool.dilation}}) {
      if (Result<void> positive = check_positive(name, value); !positive) return positive;
    }
    if (Result<void> divide = check_groups(pool); !divide) return divide;
    const Vec3 span = spanned(pool) + pooled_offsets(pool) - Vec3::cube(1);
    if (Result<void> covers_window = check_covers(pool.in.n, span); !covers_window) return covers_window;
    if (pool.in.S % voxels(pool.fragments) != 0) {
      return invalid_problem("S = " + std::to_string(pool.in.S) + " is not a multiple of the fragments " +
                             to_string(pool.fragments));
    }
    if (pool.mode == PoolMode::plain) return {};
    if (Result<void> divisible = check_divisible(pool); !divisible) return divisible;
    return check_shape(output(pool));
  }

  static double flops(const PoolProblem& pool) {
    return static_cast<double>(elements(output(pool))) * static_cast<double>(voxels(pool.window));
  }

  static std::string text(const PoolProblem& pool) {
    std::string text;
    text.reserve(96);
    text.append(pooling_words(pool.kind)).append(" ").append(to_string(pool.in));
    text.append(", window ").append(to_string(pool.window));
    if (pool.dilation != Vec3::cube(1)) text.append(", dilation ").append(to_string(pool.dilation));
    text.append(", stride ").append(to_string(pool.stride));
    if (pool.mode == PoolMode::plain) return text += ", plain";
    text.append(", fragments of ").append(to_string(pool.fragments));
    return pool.groups == Vec3::cube(1) ? text : text.append(" in groups ").append(to_string(pool.groups));
  }

  static std::optional<PoolProblem> parse(TextPieces pieces) {
    const std::optional<PoolKind> kind = take_kind(pieces);
    if (!kind) return std::nullopt;
    const std::optional<Shape5> in = pieces.shape();
    if (!in || !pieces.take(", window ")) return std::nullopt;
    const std::optional<Vec3> window = pieces.extent();
    if (!window) return std::nullopt;
    const std::optional<Vec3> dilation = pieces.take(", dilation ") ? pieces.extent() : Vec3::cube(1);
    if (!dilation || !pieces.take(", stride ")) return std::nullopt;
    const std::optional<Vec3> stride = pieces.extent();
    if (!stride) return std::nullopt;
    PoolProblem pool{*in, *window, *stride, *kind};
    pool.dilation = *dilation;
    if (!pieces.take(", plain") && !take_fragments(pieces, pool)) return std::nullopt;
    return pieces.is_empty() ? std::optional(pool) : std::nullopt;
  }

  static std::size_t hash(const PoolProblem& p) {
    const std::size_t shapes =
        hashed(hashed(hashed(hashed(hashed(0, p.in), p.window), p.stride), p.fragments), p.groups);
    const std::size_t all =
        hashed(hashed(shapes, static_cast<std::int64_t>(p.kind)), static_cast<std::int64_t>(p.mode));
    return p.dilation == Vec3::cube(1) ? all : hashed(all, p.dilation);
  }

 private:
  static Result<void> check_groups(const PoolProblem& pool) {
    for (int axis = 0; axis < 3; ++axis) {
      if (pool.stride[axis] % pool.groups[axis] == 0) continue;
      return invalid_problem(axis_text("stride", axis) + " = " + std::to_string(pool.stride[axis]) +
                             " is not divisible by " + axis_text("groups", axis) + " = " +
                             std::to_string(pool.groups[axis]));
    }
    return {};
  }

  // Fails unless every fragment has the same extent (MPF). Axes that are made in groups are exempt.
  static Result<void> check_divisible(const PoolProblem& pool) {
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t offsets = pool.in.n[axis] - spanned(pool)[axis] + 1;
      if (offsets % pool.stride[axis] == 0 || pool.groups[axis] > 1) continue;
      return invalid_problem(axis_text("n", axis) + " - " + axis_text("window", axis) +
                             " + 1 = " + std::to_string(offsets) + " is not divisible by " + axis_text("stride", axis) +
                             " = " + std::to_string(pool.stride[axis]));
    }
    return {};
  }

  static std::optional<PoolKind> take_kind(TextPieces& pieces) {
    for (const PoolKind kind : {PoolKind::max, PoolKind::average, PoolKind::average_inside}) {
      if (pieces.take(std::string(pooling_words(kind)) + " ")) return kind;
    }
    return std::nullopt;
  }

  static bool take_fragments(TextPieces& pieces, PoolProblem& pool) {
    if (!pieces.take(", fragments of ")) return false;
    const std::optional<Vec3> fragments = pieces.extent();
    if (!fragments) return false;
    pool.mode = PoolMode::fragments;
    pool.fragments = *fragments;
    if (!pieces.take(" in groups ")) return true;
    const std::optional<Vec3> groups = pieces.extent();
    pool.groups = groups.value_or(Vec3::cube(1));
    return groups.has_value();
  }
};

}  // namespace znni
