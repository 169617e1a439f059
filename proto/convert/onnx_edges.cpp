#include "proto/convert/onnx_edges.hpp"

namespace znni {

int append_edges(const OnnxNode& node, OnnxBuilder& builder, int value, const Border& edges) {
  // A stream keeps as many planes as are cropped at the end: one at least where it repeats any.
  const Crop crop{edges.end, max(edges.begin, min(edges.end, Vec3::cube(1)))};
  const Border pads{crop.begin + edges.begin, crop.end + edges.end};
  return builder.append_part(node.proto, crop, value, builder.images(value), {}, pads);
}

}  // namespace znni
