#include "server/train/validation/volume_planes.hpp"

#include <utility>

namespace znni {
namespace {

ElementType element_of(client::VoxelType type) {
  switch (type) {
    case client::VoxelType::u8: return ElementType::u8;
    case client::VoxelType::u16: return ElementType::u16;
    case client::VoxelType::f16: return ElementType::f16;
    case client::VoxelType::f32: return ElementType::f32;
    case client::VoxelType::u32:
    case client::VoxelType::u64:
    case client::VoxelType::i8:
    case client::VoxelType::i16:
    case client::VoxelType::i32:
    case client::VoxelType::i64:
    case client::VoxelType::f64: break;
  }
  ensure(false, "inputs are of types that are sent");
  return ElementType::f32;
}

}  // namespace

VolumePlanes::VolumePlanes(const PatchReader& reader, std::mutex& reading)
    : reader_(reader),
      reading_(reading),
      shape_{reader.facts().channels, reader.facts().n, element_of(reader.facts().type), VolumeOrder::plane_major} {}

void VolumePlanes::want(const PlaneRange& planes) {
  wanted_ = planes;
  planes_.erase(planes_.begin(), planes_.lower_bound(planes.first));
}

bool VolumePlanes::here() const {
  for (std::int64_t z = wanted_.first; z < wanted_.last; ++z) {
    if (!planes_.contains(z)) return false;
  }
  return true;
}

Result<void> VolumePlanes::wait(const std::stop_token& stop) {
  const Vec3 n = shape_.n;
  for (std::int64_t z = wanted_.first; z < wanted_.last; ++z) {
    if (planes_.contains(z)) continue;
    if (stop.stop_requested()) return Error{ErrorCode::cancelled, "stopped while a volume was read"};
    const std::lock_guard lock(reading_);
    Result<std::vector<std::byte>> plane = reader_.read({{z, 0, 0}, {z + 1, n.y, n.x}});
    if (!plane) return plane.error();
    planes_.emplace(z, *std::move(plane));
  }
  return {};
}

const std::byte* VolumePlanes::plane(std::int64_t channel, std::int64_t z) const {
  return planes_.at(z).data() + channel * channel_stride(shape_) * element_bytes(shape_.type);
}

}  // namespace znni
