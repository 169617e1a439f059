// Convolutions: the problem and its rules.
#pragma once

#include "primitives/core/problems/bounds.hpp"
#include "primitives/core/problems/hash.hpp"
#include "primitives/core/problems/rules.hpp"

namespace znni {

// Planes along z that precede the planes that a layer reads and writes, in the tensors that hold its input and output.
// In a streamed net they are the planes of earlier steps. They do not change the work, but they affect strides and
// alignment.
struct PlanesBefore {
  std::int64_t in = 0;
  std::int64_t out = 0;

  constexpr auto operator<=>(const PlanesBefore&) const = default;
};

// Valid (dilated, strided) convolution with the activation fused:
//   out[s][j][v] = activation(bias[j] + sum over i, d of kernel[j][i][d] * in[s][i][stride * v + dilation * d])
// The output has (n - dilated(k)) / stride + 1 voxels per axis. If the division leaves a rest, the last voxels of the
// input, as many as the rest, are not read (ONNX rounds down, too).
// With a residual, a second input of the output's shape, residual[s][j][v] is added before the activation.
// With groups, the channels of input and output form that many runs of neighbours. Then i goes over the f / groups
// channels of output j's run. groups = f is a depthwise convolution. This is the one place that states the kernel's
// orientation: cross-correlation, as ONNX and every trained net have it (the papers' formulas turn the kernel).
struct ConvProblem {
  Shape5 in;
  std::int64_t f_out = 1;
  Vec3 k = Vec3::cube(1);
  Vec3 dilation = Vec3::cube(1);
  Vec3 stride = Vec3::cube(1);
  Activation activation;
  bool residual = false;
  PlanesBefore before = {};  // set if a GPU computes it
  std::int64_t groups = 1;   // divides in.f and f_out
  // True if the input may hold infinities and NaN. A voxel of the output is then made of its window's voxels alone: no
  // transform, which mixes those beside it in, may compute it.
  bool local = false;

  constexpr auto operator<=>(const ConvProblem&) const = default;
};

// Returns whether the convolution has neither strides nor groups, which few primitives compute.
[[nodiscard]] constexpr bool is_plain(const ConvProblem& conv) {
  return conv.stride == Vec3::cube(1) && conv.groups == 1;
}
// Returns the number of products in one voxel's sum: f / groups * voxels(k).
[[nodiscard]] std::int64_t terms_of(const ConvProblem& conv);

template <>
struct ProblemRules<ConvProblem> : RulesOfOneInput<ConvProblem> {
  static constexpr bool others_as_output = true;  // the residual is added to the output

  static const ConvProblem* convolution(const ConvProblem& conv) { return &conv; }
  static Vec3 window(const ConvProblem& conv) { return conv.k; }
  static int input_count(const ConvProblem& conv) { return conv.residual ? 2 : 1; }
  static Shape5 input(const ConvProblem& conv, int index) { return index == 0 ? conv.in : output(conv); }

  static Shape5 output(const ConvProblem& conv) {
    const Vec3 n_out = (conv.in.n - dilated(conv.k, conv.dilation)) / conv.stride + Vec3::cube(1);
    return {conv.in.S, conv.f_out, n_out};
  }

  static Result<void> check(const ConvProblem& conv) {
    if (Result<void> sound = check_shape(conv.in); !sound) return sound;
    return check_window(conv);
  }

  static double flops(const ConvProblem& conv) {
    const auto count = static_cast<double>(elements(output(conv)));
    const double own = 2.0 * count * static_cast<double>(terms_of(conv));
    return conv.residual ? own + count : own;
  }

  static std::string text(const ConvProblem& conv) {
    std::string text;
    text.reserve(96);
    text.append("conv ").append(to_string(conv.in)).append(" -> ").append(std::to_string(conv.f_out));
    text.append(", k ").append(to_string(conv.k));
    if (conv.dilation != Vec3::cube(1)) text += ", dilation " + to_string(conv.dilation);
    if (conv.stride != Vec3::cube(1)) text += ", stride " + to_string(conv.stride);
    if (conv.groups != 1) text += ", groups " + std::to_string(conv.groups);
    if (conv.residual) text += ", residual";
    if (conv.local) text += ", local";
    return text += activation_text(conv.activation);
  }

  static std::optional<ConvProblem> parse(TextPieces pieces) {
    ConvProblem conv;
    if (!pieces.take("conv ")) return std::nullopt;
    const std::optional<Shape5> in = pieces.shape();
    if (!in || !pieces.take(" -> ")) return std::nullopt;
    const std::optional<std::int64_t> f_out = pieces.number<std::int64_t>();
    if (!f_out || !pieces.take(", k ")) return std::nullopt;
    const std::optional<Vec3> k = pieces.extent();
    if (!k || !take_strides(pieces, conv)) return std::nullopt;
    conv.residual = pieces.take(", residual");
    conv.local = pieces.take(", local");
    const std::optional<Activation> fused = pieces.activation();
    if (!fused || !pieces.is_empty()) return std::nullopt;
    conv.in = *in;
    conv.f_out = *f_out;
    conv.k = *k;
    conv.activation = *fused;
    return conv;
  }

  static std::size_t hash(const ConvProblem& p) {
    const std::size_t shapes = hashed(hashed(hashed(hashed(0, p.in), p.f_out), p.k), p.dilation);
    const std::size_t strided = is_plain(p) ? shapes : hashed(hashed(shapes, p.stride), p.groups);
    const std::size_t fused = hashed(hashed(strided, p.activation), std::int64_t{p.residual ? 1 : 0});
    const std::size_t all = hashed(hashed(fused, p.before.in), p.before.out);
    return p.local ? hashed(all, std::int64_t{1}) : all;
  }

 private:
  static Result<void> check_window(const ConvProblem& conv) {
    if (conv.f_out < 1) return invalid_problem("f_out = " + std::to_string(conv.f_out) + " is below 1");
    for (const auto& [name, value] :
         {std::pair{"k", conv.k}, std::pair{"dilation", conv.dilation}, std::pair{"stride", conv.stride}}) {
      if (Result<void> positive = check_positive(name, value); !positive) return positive;
    }
    if (Result<void> covers_kernel = check_covers(conv.in.n, dilated(conv.k, conv.dilation)); !covers_kernel) {
      return covers_kernel;
    }
    if (conv.groups < 1 || conv.in.f % conv.groups != 0 || conv.f_out % conv.groups != 0) {
      return invalid_problem("groups = " + std::to_string(conv.groups) + " does not divide the " +
                             std::to_string(conv.in.f) + " channels of the input and the " +
                             std::to_string(conv.f_out) + " of the output");
    }
    for (const std::int64_t planes : {conv.before.in, conv.before.out}) {
      if (planes < 0 || planes > 1 << 20) {
        return invalid_problem(std::to_string(planes) + " planes before are not in [0, 2^20]");
      }
    }
    return check_shape(output(conv));
  }

  // Takes what is left out where it is 1; false if one is begun and not understood.
  static bool take_strides(TextPieces& pieces, ConvProblem& conv) {
    for (const auto& [word, extent] :
         {std::pair{", dilation ", &conv.dilation}, std::pair{", stride ", &conv.stride}}) {
      if (!pieces.take(word)) continue;
      const std::optional<Vec3> found = pieces.extent();
      if (!found) return false;
      *extent = *found;
    }
    if (!pieces.take(", groups ")) return true;
    const std::optional<std::int64_t> groups = pieces.number<std::int64_t>();
    conv.groups = groups.value_or(1);
    return groups.has_value();
  }
};

}  // namespace znni
