#include "server/rpc/inference/channel_output.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace znni::rpc {
namespace {

std::int64_t plane_bytes(const VolumeShape& shape) { return mul(mul(shape.n.y, shape.n.x), element_bytes(shape.type)); }

}  // namespace

ChannelOutput::ChannelOutput(const VolumeShape& shape, std::vector<std::byte*> channels, SlabBlocks& blocks)
    : shape_(shape), channels_(std::move(channels)), blocks_(blocks) {}

std::int64_t ChannelOutput::block_bytes(VolumeShape shape, std::int64_t planes) {
  shape.n.z = std::min(planes, shape.n.z);
  return shape.f == 1 ? 0 : volume_bytes(shape);
}

Result<OutputSlab> ChannelOutput::slab(std::int64_t first_plane, std::int64_t planes) {
  if (first_plane < 0 || planes < 1 || first_plane + planes > shape_.n.z) {
    return Error{ErrorCode::internal, "output planes [" + std::to_string(first_plane) + ", " +
                                          std::to_string(first_plane + planes) + ") asked for, of " +
                                          std::to_string(shape_.n.z)};
  }
  VolumeShape shape = shape_;
  shape.n.z = planes;
  if (shape.f == 1) return OutputSlab{first_plane, channels_.front() + first_plane * plane_bytes(shape_), shape};
  const Result<std::byte*> block = blocks_.take(volume_bytes(shape));
  if (!block) return block.error();
  return OutputSlab{first_plane, *block, shape};
}

Result<void> ChannelOutput::deliver(const OutputSlab& slab) {
  delivered_ += slab.shape.n.z;
  if (shape_.f == 1) return {};
  const std::int64_t plane = plane_bytes(shape_);
  const std::int64_t piece = slab.shape.n.z * plane;
  for (std::int64_t j = 0; j < shape_.f; ++j) {
    std::byte* const channel = channels_[static_cast<std::size_t>(j)];
    if (channel == nullptr) continue;
    std::memcpy(channel + slab.first_plane * plane, slab.data + j * piece, static_cast<std::size_t>(piece));
  }
  blocks_.give_back(slab.data);
  return {};
}

void ChannelOutput::abandon(const OutputSlab& slab) {
  if (shape_.f > 1) blocks_.give_back(slab.data);
}

}  // namespace znni::rpc
