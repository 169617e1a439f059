#include "proto/convert/onnx/operators/onnx_pooling.hpp"

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_pads.hpp"

namespace znni {
namespace {

// Adds to the pads what a node that rounds its extents up reads beyond the input: the rest of a last window, which
// never wins in a max pooling.
Result<Border> rounded_up(const OnnxAttributes& attributes, PoolKind kind, Vec3 window, Vec3 stride, Border pads) {
  const Result<std::int64_t> mode = attributes.integer("ceil_mode", 0);
  if (!mode) return mode.error();
  if (*mode == 0 || stride == Vec3::cube(1)) return pads;
  const Vec3 end = pads.end + stride - Vec3::cube(1);
  // Each window must begin before the padding at the end.
  if (kind == PoolKind::max && covers(window - Vec3::cube(1), end)) return Border{pads.begin, end};
  return unsupported(
      "ceil_mode = 1 is not supported here; only for max poolings, of windows at least as long as their stride and the "
      "pads at the end together");
}

// Fails if an average pooling divides by other numbers at the border.
Result<void> require_counted_pads(const OnnxAttributes& attributes, PoolKind kind, const Border& pads) {
  if (kind != PoolKind::average || pads == Border{}) return {};
  const Result<std::int64_t> counted = attributes.integer("count_include_pad", 0);
  if (!counted) return counted.error();
  if (*counted != 0) return {};
  return unsupported("count_include_pad = 0 is not supported with pads; only 1");
}

Result<void> convert_pool(const OnnxNode& node, OnnxBuilder& builder, PoolKind kind) {
  if (Result<void> sound = require_all(node.attributes, "dilations", 1); !sound) return sound;
  if (node.attributes.find("kernel_shape") == nullptr) return corrupt("attribute 'kernel_shape' is missing");
  const Result<Vec3> window = node.attributes.extent("kernel_shape", builder.rank(), Vec3::cube(1));
  if (!window) return window.error();
  const Result<Vec3> stride = node.attributes.extent("strides", builder.rank(), Vec3::cube(1));
  if (!stride) return stride.error();
  const Result<int> input = builder.value(node.proto, 0);
  if (!input) return input.error();
  const Result<Border> pads =
      pads_of(node.attributes, *window, *stride, builder.rank(), extents_for_pads(builder, *input, *stride));
  if (!pads) return pads.error();
  const Result<Border> all = rounded_up(node.attributes, kind, *window, *stride, *pads);
  if (!all) return all.error();
  if (Result<void> counted = require_counted_pads(node.attributes, kind, *pads); !counted) return counted;
  builder.append(node.proto, Pooling{kind, *window, *stride}, {*input}, builder.images(*input), {}, *all);
  return {};
}

}  // namespace

Result<void> convert_max_pool(const OnnxNode& node, OnnxBuilder& builder) {
  return convert_pool(node, builder, PoolKind::max);
}

Result<void> convert_average_pool(const OnnxNode& node, OnnxBuilder& builder) {
  return convert_pool(node, builder, PoolKind::average);
}

}  // namespace znni
