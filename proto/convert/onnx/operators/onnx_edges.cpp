#include "proto/convert/onnx/operators/onnx_edges.hpp"

namespace znni {

int append_edges(const OnnxNode& node, OnnxBuilder& builder, int value, const Border& edges) {
  // A stream keeps as many planes as are cropped at the end: one at least where it repeats any.
  const Crop crop{edges.end, max(edges.begin, min(edges.end, Vec3::cube(1)))};
  const Border pads{crop.begin + edges.begin, crop.end + edges.end};
  return builder.append_part(node.proto, crop, value, builder.channels(value), {}, pads);
}

int append_reflections(const OnnxNode& node, OnnxBuilder& builder, int value, const Border& around) {
  // A voxel outside is read together with the one that it copies; a stream keeps the planes between them at either end.
  const Vec3 both = Vec3::cube(2);
  const Crop crop{around.end * both, max(around.begin, around.end) * both, true};
  const Border pads{crop.begin + around.begin, crop.end + around.end};
  return builder.append_part(node.proto, crop, value, builder.channels(value), {}, pads);
}

}  // namespace znni
