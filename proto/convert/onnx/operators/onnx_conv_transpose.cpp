#include "proto/convert/onnx/operators/onnx_conv_transpose.hpp"

#include <algorithm>
#include <optional>

#include "primitives/core/fragments.hpp"
#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_pads.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"
#include "proto/convert/onnx/operators/onnx_convolution.hpp"

namespace znni {
namespace {

// A transposed convolution: W is [f][f_out / groups][k...].
struct Transposed {
  std::int64_t f = 0;
  std::int64_t f_out = 0;
  std::int64_t groups = 1;
  Vec3 k = Vec3::cube(1);
  Vec3 dilation = Vec3::cube(1);
  Vec3 stride = Vec3::cube(1);
  Border pads;  // an end below 0 adds voxels, as output_padding does
  Vec3 output_padding;

  [[nodiscard]] std::int64_t phases() const { return voxels(stride); }
  // Voxels from the kernel's first tap to its last.
  [[nodiscard]] Vec3 span() const { return (k - Vec3::cube(1)) * dilation + Vec3::cube(1); }
  // Taps of the convolution that makes all phases.
  [[nodiscard]] Vec3 taps() const { return (span() + stride - Vec3::cube(1)) / stride; }
};

Result<Transposed> kernels_of(const onnx::TensorProto& tensor, std::int64_t f, std::int64_t groups, int rank) {
  const Result<std::vector<std::int64_t>> dims = dims_of(tensor);
  if (!dims) return dims.error();
  if (static_cast<int>(dims->size()) != rank + 2) {
    return corrupt("weights " + in_quotes(tensor.name()) + " have " + std::to_string(dims->size()) + " axes; " +
                   std::to_string(rank + 2) + " are right for a net with " + std::to_string(rank) + " spatial axes");
  }
  constexpr std::int64_t most = std::int64_t{1} << 20;
  if (std::any_of(dims->begin(), dims->end(), [](std::int64_t extent) { return extent < 1 || extent > most; })) {
    return corrupt("weights " + in_quotes(tensor.name()) + " have an extent that is not in [1, 2^20]");
  }
  if (f != unknown_channels && (*dims)[0] != f) {
    return corrupt("weights " + in_quotes(tensor.name()) + " are for " + std::to_string((*dims)[0]) +
                   " channels; the input has " + std::to_string(f));
  }
  if ((*dims)[0] % groups != 0) {
    return corrupt("group = " + std::to_string(groups) + " does not divide the " + std::to_string((*dims)[0]) +
                   " channels of its input");
  }
  Transposed result;
  result.f = (*dims)[0];
  result.f_out = mul((*dims)[1], groups);
  result.groups = groups;
  for (int i = 0; i < rank; ++i) result.k[3 - rank + i] = (*dims)[static_cast<std::size_t>(i) + 2];
  return result;
}

// One number per axis, 0 if the node has none.
Result<Vec3> output_padding_of(const OnnxAttributes& attributes, int rank) {
  const Result<std::vector<std::int64_t>> values = attributes.integers("output_padding");
  if (!values) return values.error();
  Vec3 padding;
  if (values->empty()) return padding;
  if (values->size() != static_cast<std::size_t>(rank)) {
    return corrupt("has " + std::to_string(values->size()) + " numbers in output_padding; " + std::to_string(rank) +
                   " are right");
  }
  for (int i = 0; i < rank; ++i) {
    const std::int64_t own = (*values)[static_cast<std::size_t>(i)];
    if (own < 0 || own > std::int64_t{1} << 20) {
      return corrupt("output_padding holds " + std::to_string(own) + "; 0 to 2^20 is right");
    }
    padding[3 - rank + i] = own;
  }
  return padding;
}

// Divides what is cut off at both ends of an axis: of an odd number the end has one more, or the begin. Voxels that are
// added instead stand at the end.
void divide_pads(std::int64_t both, bool more_at_end, int axis, Border& pads) {
  const std::int64_t less = std::max<std::int64_t>(0, both) / 2;
  pads.begin[axis] = more_at_end ? less : std::max<std::int64_t>(0, both) - less;
  pads.end[axis] = both - pads.begin[axis];
}

// Returns the pads of an output as long as the input times the stride, whatever that is.
Result<Border> same_pads(const Transposed& node, int rank, bool upper) {
  Border pads;
  for (int axis = 3 - rank; axis < 3; ++axis) {
    const std::int64_t both = node.span()[axis] + node.output_padding[axis] - node.stride[axis];
    if (both < 0) {
      return unsupported("auto_pad = SAME is not supported of a kernel shorter than its stride, of " +
                         to_string(node.stride) + ": export it with pads and output_padding");
    }
    divide_pads(both, upper, axis, pads);
  }
  return pads;
}

// Returns the pads of an output of extent `shape`. The input's extent must be known.
Result<Border> pads_to(const std::vector<std::int64_t>& shape, const Transposed& node, const VolumeExtents& in,
                       int rank, bool upper) {
  if (static_cast<int>(shape.size()) != rank) {
    return corrupt("has " + std::to_string(shape.size()) + " numbers in output_shape; " + std::to_string(rank) +
                   " are right");
  }
  Border pads;
  for (int axis = 3 - rank; axis < 3; ++axis) {
    const std::int64_t wanted = shape[static_cast<std::size_t>(axis - 3 + rank)];
    if (in.least[axis] < 1 || in.step[axis] != 0) {
      return unsupported("output_shape of an input whose extents the file leaves open is not supported: export it " +
                         std::string("with pads and output_padding, or with fixed extents"));
    }
    const std::int64_t all = node.stride[axis] * (in.least[axis] - 1) + node.span()[axis] + node.output_padding[axis];
    if (wanted < 1 || wanted > all + node.stride[axis]) {
      return corrupt("output_shape holds " + std::to_string(wanted) + ", where 1 to " + std::to_string(all) +
                     " voxels can be made of " + std::to_string(in.least[axis]));
    }
    divide_pads(all - wanted, upper, axis, pads);
  }
  return pads;
}

// Returns the pads that the node says, in one of three ways.
Result<Border> cut_off(const OnnxAttributes& attributes, const Transposed& node, const VolumeExtents& in, int rank) {
  const Result<std::string> mode = attributes.text("auto_pad", "NOTSET");
  if (!mode) return mode.error();
  const bool upper = *mode == "SAME_UPPER";
  const Result<std::vector<std::int64_t>> shape = attributes.integers("output_shape");
  if (!shape) return shape.error();
  if (!shape->empty()) return pads_to(*shape, node, in, rank, upper);
  if (upper || *mode == "SAME_LOWER") return same_pads(node, rank, upper);
  return pads_of(attributes, node.span(), node.stride, rank, in);
}

Result<void> read_settings(const OnnxAttributes& attributes, int rank, const VolumeExtents& in, Transposed& into) {
  const Result<Vec3> dilation = attributes.extent("dilations", rank, Vec3::cube(1));
  if (!dilation) return dilation.error();
  const Result<Vec3> stride = attributes.extent("strides", rank, Vec3::cube(1));
  if (!stride) return stride.error();
  const Result<Vec3> padding = output_padding_of(attributes, rank);
  if (!padding) return padding.error();
  into.dilation = *dilation;
  into.stride = *stride;
  into.output_padding = *padding;
  const Result<Border> pads = cut_off(attributes, into, in, rank);
  if (!pads) return pads.error();
  into.pads = *pads;
  return {};
}

Result<Transposed> transposed_of(const OnnxNode& node, const OnnxBuilder& builder, int input,
                                 const onnx::TensorProto& tensor) {
  const Result<std::int64_t> groups = groups_of(node.attributes);
  if (!groups) return groups.error();
  Result<Transposed> result = kernels_of(tensor, builder.channels(input), *groups, builder.rank());
  if (!result) return result;
  const Result<Vec3> k = node.attributes.extent("kernel_shape", builder.rank(), result->k);
  if (!k) return k.error();
  if (*k != result->k) {
    return corrupt("kernel_shape is " + to_string(*k) + "; the weights have " + to_string(result->k));
  }
  const VolumeExtents in = extents_for_pads(builder, input, Vec3::cube(1));
  if (Result<void> read = read_settings(node.attributes, builder.rank(), in, *result); !read) return read.error();
  return result;
}

// Returns what the shuffle makes more than the node's output; nothing if output_padding asks for what no tap reaches.
std::optional<Crop> crop_of(const Transposed& node) {
  const Crop crop{node.pads.begin, node.stride * node.taps() - node.span() + node.pads.end - node.output_padding};
  return covers(node.output_padding, {}) && covers(crop.end, {}) ? std::optional(crop) : std::nullopt;
}

// Returns where in W the kernel from channel i to channel j begins, in kernels; nothing where they are of different
// groups.
std::optional<std::int64_t> kernel_at(const Transposed& node, std::int64_t i, std::int64_t j) {
  const std::int64_t outputs = node.f_out / node.groups;
  if (i / (node.f / node.groups) != j / outputs) return std::nullopt;
  return i * outputs + j % outputs;
}

// Kernels of the convolution, [phase][f_out][f][taps...]: tap t of phase o is tap o + stride * (taps - 1 - t) of W, and
// zero if W has none there, as between the taps of a dilated one.
std::vector<float> phase_kernels(const Transposed& node, const std::vector<float>& from) {
  const Vec3 taps = node.taps();
  const std::int64_t volume = voxels(taps);
  std::vector<float> to(static_cast<std::size_t>(node.phases() * node.f_out * node.f * volume), 0.0F);
  for (std::int64_t channel = 0; channel < node.phases() * node.f_out * node.f; ++channel) {
    const std::int64_t i = channel % node.f;
    const std::int64_t j = channel / node.f % node.f_out;
    const Vec3 phase = fragment_at(channel / node.f / node.f_out, node.stride);
    const std::optional<std::int64_t> kernel = kernel_at(node, i, j);
    if (!kernel) continue;
    for (std::int64_t tap = 0; tap < volume; ++tap) {
      const Vec3 at = phase + node.stride * (taps - Vec3::cube(1) - fragment_at(tap, taps));
      const Vec3 own = at / node.dilation;
      if (own * node.dilation != at || !covers(node.k, own + Vec3::cube(1))) continue;
      const std::int64_t source = *kernel * voxels(node.k) + fragment_index(own, node.k);
      to[static_cast<std::size_t>(channel * volume + tap)] = from[static_cast<std::size_t>(source)];
    }
  }
  return to;
}

Result<NodeWeights> weights_of(const OnnxNode& node, const OnnxBuilder& builder, const onnx::TensorProto& tensor,
                               const Transposed& shape) {
  const std::int64_t numbers = mul(mul(mul(shape.phases(), shape.f_out), shape.f), voxels(shape.taps()));
  const bool has_zeros = shape.groups > 1 || shape.dilation != Vec3::cube(1);
  if (has_zeros && numbers > builder.room()) {
    return unsupported("group = " + std::to_string(shape.groups) + " and dilations of " + to_string(shape.dilation) +
                       " make " + std::to_string(numbers) +
                       " parameters with the zeros between groups and taps, which is more than is plausible for a "
                       "file of this size");
  }
  const Result<std::vector<float>> kernels = builder.floats_of(tensor);
  if (!kernels) return kernels.error();
  if (static_cast<std::int64_t>(kernels->size()) != mul(mul(shape.f, shape.f_out / shape.groups), voxels(shape.k))) {
    return corrupt("weights " + in_quotes(tensor.name()) + " do not have the numbers of their extents");
  }
  NodeWeights weights;
  weights.kernels = phase_kernels(shape, *kernels);
  if (!OnnxBuilder::has_input(node.proto, 2)) return weights;
  const Result<std::vector<float>> bias = builder.vector(node.proto, 2, shape.f_out);
  if (!bias) return bias.error();
  for (std::int64_t phase = 0; phase < shape.phases(); ++phase) {
    weights.bias.insert(weights.bias.end(), bias->begin(), bias->end());
  }
  return weights;
}

}  // namespace

Result<void> convert_conv_transpose(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<int> input = builder.value(node.proto, 0);
  if (!input) return input.error();
  const onnx::TensorProto* tensor = builder.constant(node.proto, 1);
  if (tensor == nullptr) return unsupported("its weights are computed; only constants are supported");
  if (builder.is_guessed(*input) && node.attributes.find("output_shape") != nullptr) {
    builder.guess(node.proto);
    return {};
  }
  const Result<Transposed> shape = transposed_of(node, builder, *input, *tensor);
  if (!shape) return shape.error();
  const std::int64_t channels = mul(shape->phases(), shape->f_out);
  if (channels > max_onnx_channels) return unsupported("makes more than 2^20 channels of one voxel");
  const std::optional<Crop> crop = crop_of(*shape);
  if (!crop) {
    return unsupported("output_padding of " + to_string(shape->output_padding) +
                       ", or output_shape, adds voxels that no tap of the kernel reaches");
  }
  Result<NodeWeights> weights = weights_of(node, builder, *tensor, *shape);
  if (!weights) return weights.error();
  const Vec3 taps = shape->taps();
  const Border around{taps - Vec3::cube(1), taps - Vec3::cube(1)};
  const Convolution conv{channels, taps, Vec3::cube(1), {}};
  int value = builder.append_part(node.proto, conv, *input, channels, *std::move(weights), around);
  if (shape->phases() > 1) {
    value = builder.append_part(node.proto, Upsample{shape->stride, UpsampleKind::shuffle}, value, shape->f_out);
  }
  if (*crop != Crop{}) value = builder.append_part(node.proto, *crop, value, shape->f_out);
  builder.alias(node.proto, value);
  return {};
}

}  // namespace znni
