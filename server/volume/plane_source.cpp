#include "server/volume/plane_source.hpp"

namespace znni {

const std::byte* WholeVolume::plane(std::int64_t channel, std::int64_t z) const {
  const std::int64_t voxel = channel * channel_stride(volume_.shape) + z * plane_stride(volume_.shape);
  return volume_.data + voxel * element_bytes(volume_.shape.type);
}

}  // namespace znni
