#include "proto/convert/onnx/operators/onnx_convolution.hpp"

#include <algorithm>
#include <array>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_pads.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"

namespace znni {
namespace {

struct Kernels {
  std::int64_t f_out = 0;
  Vec3 k;
};

// Returns the extents of W, [f_out][f / groups][k...], each positive.
Result<Kernels> kernels_of(const onnx::TensorProto& tensor, std::int64_t f, std::int64_t groups, int rank) {
  const Result<std::vector<std::int64_t>> dims = dims_of(tensor);
  if (!dims) return dims.error();
  if (static_cast<int>(dims->size()) != rank + 2) {
    return corrupt("weights " + in_quotes(tensor.name()) + " have " + std::to_string(dims->size()) + " axes; " +
                   std::to_string(rank + 2) + " are right for a net with " + std::to_string(rank) + " spatial axes");
  }
  if (std::any_of(dims->begin(), dims->end(), [](std::int64_t extent) { return extent < 1; })) {
    return corrupt("weights " + in_quotes(tensor.name()) + " have an extent of 0");
  }
  if (f != unknown_channels && mul((*dims)[1], groups) != f) {
    return corrupt("weights " + in_quotes(tensor.name()) + " are for " + std::to_string(mul((*dims)[1], groups)) +
                   " channels; the input has " + std::to_string(f));
  }
  if ((*dims)[0] % groups != 0) {
    return corrupt("group = " + std::to_string(groups) + " does not divide the " + std::to_string((*dims)[0]) +
                   " channels of its output");
  }
  Kernels kernels{(*dims)[0], Vec3::cube(1)};
  for (int i = 0; i < rank; ++i) kernels.k[3 - rank + i] = (*dims)[static_cast<std::size_t>(i) + 2];
  return kernels;
}

Result<NodeWeights> weights_of(const OnnxNode& node, const OnnxBuilder& builder, const onnx::TensorProto& kernels,
                               std::int64_t f_out) {
  NodeWeights weights;
  Result<std::vector<float>> values = builder.floats_of(kernels);
  if (!values) return values.error();
  weights.kernels = *std::move(values);
  if (!OnnxBuilder::has_input(node.proto, 2)) return weights;
  Result<std::vector<float>> bias = builder.vector(node.proto, 2, f_out);
  if (!bias) return bias.error();
  weights.bias = *std::move(bias);
  return weights;
}

}  // namespace

Result<std::int64_t> groups_of(const OnnxAttributes& attributes) {
  Result<std::int64_t> groups = attributes.integer("group", 1);
  if (!groups || (*groups >= 1 && *groups <= max_onnx_channels)) return groups;
  return corrupt("group = " + std::to_string(*groups) + "; 1 to 2^20 is right");
}

Result<void> convert_conv(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<std::int64_t> groups = groups_of(node.attributes);
  if (!groups) return groups.error();
  const Result<int> input = builder.value(node.proto, 0);
  if (!input) return input.error();
  const onnx::TensorProto* tensor = builder.constant(node.proto, 1);
  if (tensor == nullptr) return unsupported("its weights are computed; only constants are supported");
  const Result<Kernels> kernels = kernels_of(*tensor, builder.channels(*input), *groups, builder.rank());
  if (!kernels) return kernels.error();
  const Result<Vec3> k = node.attributes.extent("kernel_shape", builder.rank(), kernels->k);
  if (!k) return k.error();
  if (*k != kernels->k) {
    return corrupt("kernel_shape is " + to_string(*k) + "; the weights have " + to_string(kernels->k));
  }
  const Result<Vec3> dilation = node.attributes.extent("dilations", builder.rank(), Vec3::cube(1));
  if (!dilation) return dilation.error();
  const Result<Vec3> stride = node.attributes.extent("strides", builder.rank(), Vec3::cube(1));
  if (!stride) return stride.error();
  const Result<Border> pads = pads_of(node.attributes, dilated(*k, *dilation), *stride, builder.rank(),
                                      extents_for_pads(builder, *input, *stride));
  if (!pads) return pads.error();
  Result<NodeWeights> weights = weights_of(node, builder, *tensor, kernels->f_out);
  if (!weights) return weights.error();
  builder.append(node.proto, Convolution{kernels->f_out, *k, *dilation, {}, *stride, *groups}, {*input}, kernels->f_out,
                 *std::move(weights), *pads);
  return {};
}

}  // namespace znni
