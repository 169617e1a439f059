#include "server/models/planned_volume.hpp"

namespace znni {

std::optional<Vec3> PlannedVolume::input_of(const Network& network) const {
  if (!extent) return std::nullopt;
  return framed(network, is_padded ? *extent + lost_extent(network) - Vec3::cube(1) : *extent);
}

}  // namespace znni
