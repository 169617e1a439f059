#include "server/volume/volume_view.hpp"

namespace znni {

std::int64_t volume_bytes(const VolumeShape& shape) {
  return mul(mul(shape.f, voxels(shape.n)), element_bytes(shape.type));
}

std::int64_t channel_stride(const VolumeShape& shape) {
  const std::int64_t plane = mul(shape.n.y, shape.n.x);
  return shape.order == VolumeOrder::channel_major ? mul(plane, shape.n.z) : plane;
}

std::int64_t plane_stride(const VolumeShape& shape) {
  const std::int64_t plane = mul(shape.n.y, shape.n.x);
  return shape.order == VolumeOrder::channel_major ? plane : mul(plane, shape.f);
}

}  // namespace znni
