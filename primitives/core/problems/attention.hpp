// Attention over all voxels: the problem and its rules.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

// Scaled dot-product attention (Vaswani et al. 2017) whose tokens are the voxels of one input. The three tensors that
// it reads are queries q and keys k, of in.f channels, and values w, of f_out. Each is divided into `heads` runs of
// neighbouring channels. Of a head h, with c over its channels and v, u over all voxels,
//   a[v][u] = e^(scale sum over c of q[c][v] k[c][u]), divided by the sum of these over u,
//   out[s][i][v] = sum over u of a[v][u] w[i][u].
struct AttentionProblem {
  Shape5 in;
  std::int64_t f_out = 1;
  std::int64_t heads = 1;  // divides in.f and f_out
  float scale = 1;         // finite
  constexpr auto operator<=>(const AttentionProblem&) const = default;
};

template <>
struct ProblemRules<AttentionProblem> : RulesOfOneInput<AttentionProblem> {
  static int input_count(const AttentionProblem&) { return 3; }
  static Shape5 input(const AttentionProblem& own, int index) {
    return {own.in.S, index == 2 ? own.f_out : own.in.f, own.in.n};
  }
  static Shape5 output(const AttentionProblem& own) { return {own.in.S, own.f_out, own.in.n}; }

  static Result<void> check(const AttentionProblem& own) {
    if (Result<void> sound = check_shape(own.in); !sound) return sound;
    if (Result<void> sound = check_shape(output(own)); !sound) return sound;
    if (own.heads < 1 || own.in.f % own.heads != 0 || own.f_out % own.heads != 0) {
      return invalid_problem("heads = " + std::to_string(own.heads) + " do not divide f = " + std::to_string(own.in.f) +
                             " and f_out = " + std::to_string(own.f_out));
    }
    if (own.scale - own.scale != 0) return invalid_problem("scale is not finite");
    return {};
  }

  // Returns the operations of the two products, and of an exponential, a sum and a quotient for each pair of voxels.
  static double flops(const AttentionProblem& own) {
    const auto tokens = static_cast<double>(voxels(own.in.n));
    const auto channels = static_cast<double>(own.in.f + own.f_out);
    const double of_pair = 2.0 * channels + 3.0 * static_cast<double>(own.heads);
    return static_cast<double>(own.in.S) * tokens * tokens * of_pair;
  }

  static std::string text(const AttentionProblem& own) {
    return "attention " + to_string(own.in) + " -> " + std::to_string(own.f_out) + ", heads " +
           std::to_string(own.heads);
  }

  static std::optional<AttentionProblem> parse(TextPieces pieces) {
    if (!pieces.take("attention ")) return std::nullopt;
    const std::optional<Shape5> in = pieces.shape();
    if (!in || !pieces.take(" -> ")) return std::nullopt;
    const std::optional<std::int64_t> f_out = pieces.number<std::int64_t>();
    if (!f_out || !pieces.take(", heads ")) return std::nullopt;
    const std::optional<std::int64_t> heads = pieces.number<std::int64_t>();
    if (!heads || !pieces.is_empty()) return std::nullopt;
    return AttentionProblem{*in, *f_out, *heads};
  }

  static std::size_t hash(const AttentionProblem& own) {
    return hashed(hashed(hashed(hashed(0, own.in), own.f_out), own.heads), own.scale);
  }
};

}  // namespace znni
