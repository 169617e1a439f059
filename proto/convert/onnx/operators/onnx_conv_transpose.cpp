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
  Vec3 stride = Vec3::cube(1);
  Border pads;
  Vec3 output_padding;

  [[nodiscard]] std::int64_t phases() const { return voxels(stride); }
  // Taps of the convolution that makes all phases.
  [[nodiscard]] Vec3 taps() const { return (k + stride - Vec3::cube(1)) / stride; }
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
  if (f != unknown_images && (*dims)[0] != f) {
    return corrupt("weights " + in_quotes(tensor.name()) + " are for " + std::to_string((*dims)[0]) +
                   " images; the input has " + std::to_string(f));
  }
  if ((*dims)[0] % groups != 0) {
    return corrupt("group = " + std::to_string(groups) + " does not divide the " + std::to_string((*dims)[0]) +
                   " images of its input");
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

Result<void> read_settings(const OnnxAttributes& attributes, int rank, Transposed& into) {
  if (Result<void> sound = require_all(attributes, "dilations", 1); !sound) return sound;
  if (attributes.find("output_shape") != nullptr) {
    return unsupported("output_shape is not supported: export it with pads and output_padding");
  }
  const Result<Vec3> stride = attributes.extent("strides", rank, Vec3::cube(1));
  if (!stride) return stride.error();
  const Result<std::string> mode = attributes.text("auto_pad", "NOTSET");
  if (!mode) return mode.error();
  if (*mode != "NOTSET" && *mode != "VALID") {
    return unsupported("auto_pad = " + in_quotes(*mode) + " is not supported here: export it with explicit pads");
  }
  const Result<Border> pads = pads_of(attributes, into.k, *stride, rank, {});
  if (!pads) return pads.error();
  const Result<Vec3> padding = output_padding_of(attributes, rank);
  if (!padding) return padding.error();
  into.stride = *stride;
  into.pads = *pads;
  into.output_padding = *padding;
  return {};
}

Result<Transposed> transposed_of(const OnnxNode& node, const OnnxBuilder& builder, std::int64_t f,
                                 const onnx::TensorProto& tensor) {
  const Result<std::int64_t> groups = groups_of(node.attributes);
  if (!groups) return groups.error();
  Result<Transposed> result = kernels_of(tensor, f, *groups, builder.rank());
  if (!result) return result;
  const Result<Vec3> k = node.attributes.extent("kernel_shape", builder.rank(), result->k);
  if (!k) return k.error();
  if (*k != result->k) {
    return corrupt("kernel_shape is " + to_string(*k) + "; the weights have " + to_string(result->k));
  }
  if (Result<void> read = read_settings(node.attributes, builder.rank(), *result); !read) return read.error();
  return result;
}

// Returns what the shuffle makes more than the node's output; nothing if output_padding asks for what no tap reaches.
std::optional<Crop> crop_of(const Transposed& node) {
  const Crop crop{node.pads.begin, node.stride * node.taps() - node.k + node.pads.end - node.output_padding};
  return covers(node.output_padding, {}) && covers(crop.end, {}) ? std::optional(crop) : std::nullopt;
}

// Returns where in W the kernel from image i to image j begins, in kernels; nothing where they are of different groups.
std::optional<std::int64_t> kernel_at(const Transposed& node, std::int64_t i, std::int64_t j) {
  const std::int64_t outputs = node.f_out / node.groups;
  if (i / (node.f / node.groups) != j / outputs) return std::nullopt;
  return i * outputs + j % outputs;
}

// Kernels of the convolution, [phase][f_out][f][taps...]: tap t of phase o is tap o + stride * (taps - 1 - t) of W, and
// zero if W has none there.
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
      if (!covers(node.k, at + Vec3::cube(1))) continue;
      const std::int64_t source = *kernel * voxels(node.k) + fragment_index(at, node.k);
      to[static_cast<std::size_t>(channel * volume + tap)] = from[static_cast<std::size_t>(source)];
    }
  }
  return to;
}

Result<NodeWeights> weights_of(const OnnxNode& node, const OnnxBuilder& builder, const onnx::TensorProto& tensor,
                               const Transposed& shape) {
  const std::int64_t numbers = mul(mul(mul(shape.phases(), shape.f_out), shape.f), voxels(shape.taps()));
  if (shape.groups > 1 && numbers > builder.room()) {
    return unsupported("group = " + std::to_string(shape.groups) + " makes " + std::to_string(numbers) +
                       " parameters with the zeros between the groups, which is more than is plausible for a file of "
                       "this size");
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
  const Result<Transposed> shape = transposed_of(node, builder, builder.images(*input), *tensor);
  if (!shape) return shape.error();
  const std::int64_t channels = mul(shape->phases(), shape->f_out);
  if (channels > max_onnx_images) return unsupported("makes more than 2^20 channels of one voxel");
  const std::optional<Crop> crop = crop_of(*shape);
  if (!crop) {
    return unsupported("output_padding of " + to_string(shape->output_padding) +
                       " adds voxels that no tap of the kernel reaches");
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
