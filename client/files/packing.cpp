#include "client/files/packing.hpp"

#include <zlib.h>

#include <new>

namespace znni::client {
namespace {

// Calls move(i, j) for all bytes i of the voxels, which go to or come from byte j of the shuffled ones.
template <class Move>
void for_all_shuffled(std::size_t bytes, std::size_t width, Move move) {
  const std::size_t voxels = bytes / width;
  for (std::size_t byte = 0; byte < width; ++byte) {
    for (std::size_t voxel = 0; voxel < voxels; ++voxel) move(voxel * width + byte, byte * voxels + voxel);
  }
}

}  // namespace

std::vector<std::byte> pack(std::span<const std::byte> voxels, std::int64_t width) {
  std::vector<std::byte> shuffled(voxels.size());
  for_all_shuffled(voxels.size(), static_cast<std::size_t>(width),
                   [&](std::size_t i, std::size_t j) { shuffled[j] = voxels[i]; });
  uLongf size = compressBound(shuffled.size());
  std::vector<std::byte> packed(size);
  const int done = compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                             reinterpret_cast<const Bytef*>(shuffled.data()), shuffled.size(), gzip_level);
  if (done != Z_OK) throw std::bad_alloc();  // zlib has the room that it asks for: it lacks memory of its own
  packed.resize(size);
  return packed;
}

bool unpack(std::span<const std::byte> packed, std::int64_t width, std::span<std::byte> voxels) {
  std::vector<std::byte> shuffled(voxels.size());
  uLongf size = shuffled.size();
  const int done = uncompress(reinterpret_cast<Bytef*>(shuffled.data()), &size,
                              reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  if (done != Z_OK || size != voxels.size()) return false;
  for_all_shuffled(voxels.size(), static_cast<std::size_t>(width),
                   [&](std::size_t i, std::size_t j) { voxels[i] = shuffled[j]; });
  return true;
}

}  // namespace znni::client
