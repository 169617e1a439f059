#include "proto/convert/onnx/operators/onnx_pooling.hpp"

#include "proto/convert/base/errors.hpp"
#include "proto/convert/onnx/graph/onnx_pads.hpp"
#include "proto/convert/onnx/operators/onnx_channels.hpp"

namespace znni {
namespace {

// Returns the voxels that a node which rounds its extents up reads behind the input and its pads: the rest of a last
// window. `span`: the voxels of a window.
Result<Vec3> rest_of_windows(const OnnxAttributes& attributes, Vec3 span, Vec3 stride, const Border& pads) {
  const Result<std::int64_t> mode = attributes.integer("ceil_mode", 0);
  if (!mode) return mode.error();
  const Vec3 rest = stride - Vec3::cube(1);
  if (*mode == 0 || rest == Vec3{}) return Vec3{};
  // Each window must begin before the padding at the end.
  if (covers(span - Vec3::cube(1), pads.end + rest)) return rest;
  return unsupported(
      "ceil_mode = 1 is not supported here; only where windows are at least as long as their stride and the pads at "
      "the end together");
}

// Fails for pads that frameworks count in different ways.
Result<void> check_dilated_pads(const OnnxAttributes& attributes, Vec3 dilation) {
  const Result<std::string> mode = attributes.text("auto_pad", "NOTSET");
  if (!mode) return mode.error();
  if (dilation == Vec3::cube(1) || !mode->starts_with("SAME")) return {};
  return unsupported("auto_pad = '" + *mode + "' is not supported with dilations; only pads");
}

// Windows and what they read around the input, of which `rest` lies behind the pads.
struct PoolWindows {
  Pooling pool;
  Border pads;
  Vec3 rest;
};

Result<PoolWindows> windows_of(const OnnxNode& node, const OnnxBuilder& builder, PoolKind kind, int input) {
  const OnnxAttributes& attributes = node.attributes;
  if (attributes.find("kernel_shape") == nullptr) return corrupt("attribute 'kernel_shape' is missing");
  const Result<Vec3> window = attributes.extent("kernel_shape", builder.rank(), Vec3::cube(1));
  if (!window) return window.error();
  const Result<Vec3> stride = attributes.extent("strides", builder.rank(), Vec3::cube(1));
  if (!stride) return stride.error();
  const Result<Vec3> dilation = attributes.extent("dilations", builder.rank(), Vec3::cube(1));
  if (!dilation) return dilation.error();
  if (Result<void> sound = check_dilated_pads(attributes, *dilation); !sound) return sound.error();
  const Vec3 span = dilated(*window, *dilation);
  const Result<Border> pads =
      pads_of(attributes, span, *stride, builder.rank(), extents_for_pads(builder, input, *stride));
  if (!pads) return pads.error();
  const Result<Vec3> rest = rest_of_windows(attributes, span, *stride, *pads);
  if (!rest) return rest.error();
  return PoolWindows{{kind, *window, *stride, false, *dilation}, *pads, *rest};
}

Result<void> append_pool(const OnnxNode& node, OnnxBuilder& builder, const PoolWindows& windows, int input) {
  const Border all{windows.pads.begin, windows.pads.end + windows.rest};
  builder.append(node.proto, windows.pool, {input}, builder.channels(input), {}, all);
  return {};
}

}  // namespace

Result<void> convert_max_pool(const OnnxNode& node, OnnxBuilder& builder) {
  const Result<int> input = builder.value(node.proto, 0);
  if (!input) return input.error();
  const Result<PoolWindows> windows = windows_of(node, builder, PoolKind::max, *input);
  return windows ? append_pool(node, builder, *windows, *input) : windows.error();
}

// A mean counts the voxels of a window within the input and, with count_include_pad, within the pads; what lies behind
// them never. So zeros that count are put around the input first, if some of a window lies behind them.
Result<void> convert_average_pool(const OnnxNode& node, OnnxBuilder& builder) {
  Result<int> input = builder.value(node.proto, 0);
  if (!input) return input.error();
  Result<PoolWindows> windows = windows_of(node, builder, PoolKind::average, *input);
  if (!windows) return windows.error();
  const Result<std::int64_t> counted = node.attributes.integer("count_include_pad", 0);
  if (!counted) return counted.error();
  const bool counts_all = windows->rest == Vec3{} && (*counted != 0 || windows->pads == Border{});
  if (counts_all) return append_pool(node, builder, *windows, *input);
  windows->pool.kind = PoolKind::average_inside;
  if (*counted != 0 && windows->pads != Border{} && builder.channels(*input) != unknown_channels) {
    input = append_copy(node, builder, *input, {.count = builder.channels(*input)}, windows->pads);
    if (!input) return input.error();
    windows->pads = {};
  }
  return append_pool(node, builder, *windows, *input);
}

}  // namespace znni
