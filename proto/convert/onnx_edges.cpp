#include "proto/convert/onnx_edges.hpp"

namespace znni {

int append_edges(const OnnxNode& node, OnnxBuilder& builder, int value, const Border& edges) {
  const Vec3 most = max(edges.begin, edges.end);
  const Border pads{most + edges.begin, most + edges.end};
  return builder.append_part(node.proto, Crop{most, most}, value, builder.images(value), {}, pads);
}

}  // namespace znni
