// Problems: what one layer has to compute, as values. A problem says nothing of how; primitives
// (primitives/core/primitive.hpp) answer it. Extents of outputs follow from the functions at the end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "primitives/core/shape.hpp"
#include "primitives/core/tensor.hpp"

namespace znni {

enum class ActivationKind { none, relu, leaky_relu, elu, sigmoid, tanh };

// y = x (none); max(x, 0) (relu); x < 0 ? alpha x : x (leaky_relu); x < 0 ? alpha (exp(x) - 1) : x (elu);
// 1 / (1 + exp(-x)) (sigmoid); tanh(x). NaN stays NaN on the CPU.
struct Activation {
  ActivationKind kind = ActivationKind::none;
  float alpha = 0.0F;

  constexpr auto operator<=>(const Activation&) const = default;
};
[[nodiscard]] float apply(Activation activation, float x);

// Planes along z that stand, in the tensors that hold a layer's input and output, before those that it reads and
// writes: of a streamed net the planes of earlier steps. The work is the same, but who plans for strides and alignment
// must know.
struct PlanesBefore {
  std::int64_t in = 0;
  std::int64_t out = 0;

  constexpr auto operator<=>(const PlanesBefore&) const = default;
};

// Valid (dilated) convolution with the activation fused:
//   out[s][j][v] = activation(bias[j] + sum over i, d of kernel[j][i][d] * in[s][i][v + dilation * d])
// With a residual, a second input of the output's shape, residual[s][j][v] is added before the activation.
// This is the one place that states the kernel's orientation: cross-correlation, as ONNX and every trained
// net have it (the papers' formulas turn the kernel).
struct ConvProblem {
  Shape5 in;
  std::int64_t f_out = 1;
  Vec3 k = Vec3::cube(1);
  Vec3 dilation = Vec3::cube(1);
  Activation activation;
  bool residual = false;
  PlanesBefore before = {};  // said where a GPU computes it

  constexpr auto operator<=>(const ConvProblem&) const = default;
};

enum class PoolKind { max, average };

// plain: strided pooling, out[v] = pool of in[stride * v, stride * v + window).
// fragments: max-pooling fragments (MPF; ZNNi section V): the pooling at every offset o in [0, stride), each
//   one an input of its own: S grows by voxels(stride). Taken by stride, so that windows other than the
//   stride and average pooling work too. Legal when every fragment has the same extent:
//   (n - window + 1) divisible by stride; for window = stride that is the paper's n + 1 divisible by p.
//   With `groups`, one run makes only the fragments of the offsets [0, stride / groups) of each axis, and S grows by
//   that many; the next group is made by giving the same layer a view that begins stride / groups voxels later
//   (its extents shorter by as much). A last window that no offset reaches is then left out.
enum class PoolMode { plain, fragments };

// The S of `in` is S0 * voxels(fragments): `fragments` counts, per axis, the fragments made by earlier
// poolings. Inputs stand in the order s = s0 * voxels(fragments) + row-major (z, y, x) fragment index; the
// index along an axis rises with the fragment's offset (primitives/core/fragments.hpp).
struct PoolProblem {
  Shape5 in;
  Vec3 window = Vec3::cube(2);
  Vec3 stride = Vec3::cube(2);
  PoolKind kind = PoolKind::max;
  PoolMode mode = PoolMode::plain;
  Vec3 fragments = Vec3::cube(1);
  Vec3 groups = Vec3::cube(1);  // divides the stride; 1 where the mode is plain

  constexpr auto operator<=>(const PoolProblem&) const = default;
};

// Offsets per axis that one run makes fragments of: 1 (plain) or stride / groups.
[[nodiscard]] constexpr Vec3 pooled_offsets(const PoolProblem& pool) {
  return pool.mode == PoolMode::plain ? Vec3::cube(1) : pool.stride / pool.groups;
}

// A convolution and the pooling of its output, whose tensor nobody else reads, as one piece of work: a first layer then
// needs no memory for the images between them. `pool.in` is the convolution's output; no residual.
struct ConvPoolProblem {
  ConvProblem conv;
  PoolProblem pool;

  constexpr auto operator<=>(const ConvPoolProblem&) const = default;
};

// out = activation(in), element by element.
struct ActivationProblem {
  Shape5 in;
  Activation activation;
  constexpr auto operator<=>(const ActivationProblem&) const = default;
};

// Softmax over the images of each voxel.
struct SoftmaxProblem {
  Shape5 in;
  constexpr auto operator<=>(const SoftmaxProblem&) const = default;
};

// out = scale[i] * in + shift[i] for image i: a batch normalisation that could not be folded.
struct ScaleShiftProblem {
  Shape5 in;
  constexpr auto operator<=>(const ScaleShiftProblem&) const = default;
};

// out = activation(sum of `inputs` tensors of shape `in`).
struct AddProblem {
  Shape5 in;
  int inputs = 2;
  Activation activation;
  constexpr auto operator<=>(const AddProblem&) const = default;
};

// Images of all inputs, one input after the other; S and n are the same in all.
struct ConcatProblem {
  std::vector<Shape5> in;
  auto operator<=>(const ConcatProblem&) const = default;
};

// out[v] = in[begin + v]: without the first `begin` and the last `end` voxels of each axis.
struct CropProblem {
  Shape5 in;
  Vec3 begin;
  Vec3 end;
  constexpr auto operator<=>(const CropProblem&) const = default;
};

// The same tensor in another format.
struct ReorderProblem {
  Shape5 in;
  Format from;
  Format to;
  constexpr auto operator<=>(const ReorderProblem&) const = default;
};

using LayerProblem = std::variant<ConvProblem, PoolProblem, ActivationProblem, SoftmaxProblem, ScaleShiftProblem,
                                  AddProblem, ConcatProblem, ReorderProblem, CropProblem, ConvPoolProblem>;

// Parameters of one layer, borrowed: they must outlive the prepared layer. Host memory, float32.
struct LayerWeights {
  std::span<const float> kernels;  // [f_out][f][k.z][k.y][k.x]
  std::span<const float> bias;     // [f_out]; empty means zeros
  std::span<const float> scale;    // [f]
  std::span<const float> shift;    // [f]
};

// The problem's convolution, whose kernels and bias it takes; nullptr where it has none.
[[nodiscard]] const ConvProblem* convolution_of(const LayerProblem& problem);

// How many tensors the problem reads.
[[nodiscard]] int input_count(const LayerProblem& problem);
// Shape of input `index` of the problem.
[[nodiscard]] Shape5 input_shape(const LayerProblem& problem, int index);
// Shape the problem writes. Requires check(problem).
[[nodiscard]] Shape5 output_shape(const LayerProblem& problem);
// Whether the problem makes sense at all (extents, divisibility, equal inputs); the error names the numbers:
// "n.x - window.x + 1 = 63 is not divisible by stride.x = 2".
[[nodiscard]] Result<void> check(const LayerProblem& problem);

// Multiplications and additions of the textbook algorithm: 2 f f' k n' S for a convolution, and one for every voxel
// of its residual; of a convolution that is pooled, both. Saturating arithmetic is not needed: a double.
[[nodiscard]] double direct_flops(const LayerProblem& problem);

// "conv 1x80x48x48x48 -> 80, k 5x5x5, residual, relu": one line that names the work in full; equal texts, equal work
// (what does not matter is left out: the alpha of a relu, the fragments of a plain pooling, planes before). Of a
// convolution that is pooled: "conv ..., then max pool ...". Used in reports and as the key of recorded timings.
[[nodiscard]] std::string to_string(const LayerProblem& problem);
[[nodiscard]] std::string_view to_string(ActivationKind kind);

}  // namespace znni
