// Problems: the work of one layer, as values. A problem does not say how it is computed; primitives
// (primitives/core/primitive.hpp) decide that. What holds for each kind of them is in a file of its own
// (primitives/core/problems); the functions at the end ask there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "primitives/core/activation.hpp"
#include "primitives/core/shape.hpp"
#include "primitives/core/tensor.hpp"

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
// With groups, the channels of input and output form that many runs of neighbours, and i goes over the f / groups
// channels of output j's run. groups = f is a depthwise convolution.
// This is the one place that states the kernel's orientation: cross-correlation, as ONNX and every trained
// net have it (the papers' formulas turn the kernel).
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

  constexpr auto operator<=>(const ConvProblem&) const = default;
};

// Returns whether the convolution has neither strides nor groups, which few primitives compute.
[[nodiscard]] constexpr bool is_plain(const ConvProblem& conv) {
  return conv.stride == Vec3::cube(1) && conv.groups == 1;
}
// Returns the number of products in one voxel's sum: f / groups * voxels(k).
[[nodiscard]] std::int64_t terms_of(const ConvProblem& conv);

// A max may pass over a NaN in a window, but not in a pooling of all voxels.
enum class PoolKind { max, average };

// plain: strided pooling, out[v] = pool of in[stride * v, stride * v + window).
// fragments: max-pooling fragments (MPF; ZNNi section V): the pooling at every offset o in [0, stride). Each offset
// gives one input of its own, so S grows by the factor voxels(stride). The offsets follow the stride, so other windows
// and average pooling work too. It is legal if every fragment has the same extent, that is if (n - window + 1) is
// divisible by stride. For window = stride this is the paper's condition, n + 1 divisible by p.
// With `groups`, one run makes only the fragments of the offsets [0, stride / groups) of each axis, and S grows by that
// factor. To make the next group, give the same layer a view that begins stride / groups voxels later (its extents are
// shorter by as much). A last window that no offset reaches is then left out.
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

  constexpr auto operator<=>(const PoolProblem&) const = default;
};

// Returns the number of offsets per axis for which one run makes fragments: 1 (plain) or stride / groups.
[[nodiscard]] constexpr Vec3 pooled_offsets(const PoolProblem& pool) {
  return pool.mode == PoolMode::plain ? Vec3::cube(1) : pool.stride / pool.groups;
}

// A convolution and the pooling of its output as one piece of work. No other layer reads the tensor between them, so a
// first layer needs no memory for it. `pool.in` is the convolution's output; a residual is not allowed.
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

enum class AcrossKind { softmax, log_softmax, arg_max, arg_max_last, norm };

// Makes a voxel of its own channels alone. With x[i] its value in channel i, and m the largest of them,
// softmax: out[i] = e^(x[i] - m) / sum over j of e^(x[j] - m).
// log_softmax: out[i] = x[i] - m - log(sum over j of e^(x[j] - m)).
// arg_max: the number of the first channel whose value is m; arg_max_last: of the last one. The output has one channel.
// norm: layer normalisation, out[i] = (x[i] - mean) / sqrt(variance + epsilon), with the variance of the population.
// A voxel that is NaN in one channel becomes NaN in each channel of the output.
struct AcrossChannelsProblem {
  Shape5 in;
  AcrossKind kind = AcrossKind::softmax;
  float epsilon = 1e-5F;  // of a norm; above 0
  constexpr auto operator<=>(const AcrossChannelsProblem&) const = default;
};

// out = scale[i] * in + shift[i] for channel i: a batch normalisation that could not be folded.
struct ScaleShiftProblem {
  Shape5 in;
  constexpr auto operator<=>(const ScaleShiftProblem&) const = default;
};

// Instance and group normalisation. With m the mean and v the variance (of the population) of all voxels of a group of
// f / groups neighbouring channels of one input,
//   out = activation(scale[i] (in - m) / sqrt(v + epsilon) + shift[i]) for channel i.
// groups = f is an instance normalisation; groups = 1 normalises all channels together.
struct NormProblem {
  Shape5 in;
  std::int64_t groups = 1;  // divides in.f
  float epsilon = 1e-5F;    // above 0
  Activation activation = {};
  constexpr auto operator<=>(const NormProblem&) const = default;
};

// The largest or the mean of all voxels of each channel of each input, at every voxel:
//   out[s][i][v] = pool of in[s][i].
struct GlobalPoolProblem {
  Shape5 in;
  PoolKind kind = PoolKind::average;
  constexpr auto operator<=>(const GlobalPoolProblem&) const = default;
};

// out = activation(sum of `inputs` tensors of shape `in`).
struct AddProblem {
  Shape5 in;
  int inputs = 2;
  Activation activation;
  constexpr auto operator<=>(const AddProblem&) const = default;
};

// out[s][i][v] = in[s][i][v] * other[s][i][v]. A second input of one channel multiplies every channel.
struct MultiplyProblem {
  Shape5 in;
  std::int64_t f_other = 1;  // in.f or 1
  constexpr auto operator<=>(const MultiplyProblem&) const = default;
};

// Channels of all inputs, one input after the other; S and n are the same in all.
struct ConcatProblem {
  std::vector<Shape5> in;
  auto operator<=>(const ConcatProblem&) const = default;
};

// out[v] = in[begin + v]: the input without the first `begin` and the last `end` voxels of each axis.
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

enum class UpsampleKind { nearest, shuffle, linear, aligned };

// A tensor with `factor` times as many voxels per axis, of inner voxels where it interpolates.
// nearest: every voxel is repeated, out[s][i][v] = in[s][i][v / factor].
// shuffle: channels become voxels, the last step of a transposed convolution whose stride is its kernel's extent. in.f
// is f_out * voxels(factor), and out[s][j][factor * v + o] = in[s][phase(o) * f_out + j][v] for every offset o in
// [0, factor), where phase(o) is the row-major (z, y, x) index of o.
// linear: along each axis whose factor m is above 1, n voxels give m (n - 2), and voxel m c + r of these is
// (1 - t) in[c + b] + t in[c + b + 1], where b + t = (r + 1/2) / m + 1/2, b is 0 or 1 and t in [0, 1). That is ONNX's
// Resize at half_pixel coordinates of all voxels but the first and the last, which are read as neighbours.
// aligned: along each axis whose factor m is above 1, n voxels give m n, and voxel v of these lies at
// v (n - 1) / (m n - 1), between the two of the input beside it: the first and the last one stay where they are. Of one
// voxel all are copies. That is ONNX's Resize with aligned corners; where a voxel lies depends on the whole extent.
struct UpsampleProblem {
  Shape5 in;
  Vec3 factor = Vec3::cube(2);
  UpsampleKind kind = UpsampleKind::nearest;
  constexpr auto operator<=>(const UpsampleProblem&) const = default;
};

using LayerProblem = std::variant<ConvProblem, PoolProblem, ActivationProblem, AcrossChannelsProblem, ScaleShiftProblem,
                                  AddProblem, ConcatProblem, ReorderProblem, CropProblem, ConvPoolProblem,
                                  UpsampleProblem, NormProblem, MultiplyProblem, GlobalPoolProblem>;

// Parameters of one layer, borrowed: the caller must keep them longer than the prepared layer. Host memory, float32.
struct LayerWeights {
  std::span<const float> kernels;  // [f_out][f / groups][k.z][k.y][k.x]
  std::span<const float> bias;     // [f_out]; empty means zeros
  std::span<const float> scale;    // [f]
  std::span<const float> shift;    // [f]
};

// Returns whether the operation makes one channel of all.
[[nodiscard]] constexpr bool makes_one_channel(AcrossKind kind) {
  return kind == AcrossKind::arg_max || kind == AcrossKind::arg_max_last;
}

// Returns the voxels per axis around the one of which an upsampling of this kind makes `factor`: 3 where it
// interpolates, else 1.
[[nodiscard]] Vec3 upsampling_window(UpsampleKind kind, Vec3 factor);

// Returns the problem's convolution, which uses the kernels and the bias; nullptr if it has none.
[[nodiscard]] const ConvProblem* convolution_of(const LayerProblem& problem);

// Returns whether the problem uses a scale and a shift for each channel.
[[nodiscard]] bool has_scale(const LayerProblem& problem);
// Returns the extent of the window of which the problem makes each voxel of its output: of a pooled convolution the
// kernel's, 1 if it has none.
[[nodiscard]] Vec3 window_of(const LayerProblem& problem);

// Returns the number of tensors that the problem reads.
[[nodiscard]] int input_count(const LayerProblem& problem);
// Returns the shape of input `index` of the problem.
[[nodiscard]] Shape5 input_shape(const LayerProblem& problem, int index);
// Returns the shape that the problem writes. Requires check(problem).
[[nodiscard]] Shape5 output_shape(const LayerProblem& problem);
// Fails if the problem is impossible (extents, divisibility, unequal inputs); the error names the numbers: "n.x -
// window.x + 1 = 63 is not divisible by stride.x = 2".
[[nodiscard]] Result<void> check(const LayerProblem& problem);

// Returns the multiplications and additions of the textbook algorithm. A convolution has 2 f / groups f' k n' S, and
// one more for every voxel of its residual; a pooled convolution has those of both. The result is a double, so
// saturating arithmetic is not needed.
[[nodiscard]] double direct_flops(const LayerProblem& problem);

// Returns one line that names the work in full: "conv 1x80x48x48x48 -> 80, k 5x5x5, residual, relu". Equal lines mean
// equal work. Details that do not affect the work are left out: the alpha of a relu, an epsilon, the fragments of a
// plain pooling, planes before, a dilation or a stride of 1. A pooled convolution gives "conv ..., then max pool ...".
// Used in reports and as the key of recorded timings.
[[nodiscard]] std::string to_string(const LayerProblem& problem);
[[nodiscard]] std::string_view to_string(UpsampleKind kind);
// Returns the name of the operation; of a norm "channel norm".
[[nodiscard]] std::string_view to_string(AcrossKind kind);

}  // namespace znni
