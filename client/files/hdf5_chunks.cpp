#include "client/files/hdf5_chunks.hpp"

#include <algorithm>

namespace znni::client {
namespace {

constexpr std::int64_t max_plane_edge = 256;
constexpr std::int64_t max_compressed_edge = 64;
constexpr std::int64_t max_layer_bytes = std::int64_t{256} << 20;

// Returns the edge that divides `n` into as few parts as edges of at most `max` do, as equal as they can be.
std::int64_t equal_edge(std::int64_t n, std::int64_t max) { return div_up(n, div_up(n, max)); }

}  // namespace

Vec3 chunk_of_planes(Vec3 n) { return {1, equal_edge(n.y, max_plane_edge), equal_edge(n.x, max_plane_edge)}; }

Vec3 chunk_of_compressed(const VolumeFacts& facts) {
  const std::int64_t plane = mul(mul(facts.channels, mul(facts.n.y, facts.n.x)), voxel_bytes(facts.type));
  const std::int64_t max_planes = std::clamp<std::int64_t>(max_layer_bytes / plane, 1, max_compressed_edge);
  return {equal_edge(facts.n.z, max_planes), equal_edge(facts.n.y, max_compressed_edge),
          equal_edge(facts.n.x, max_compressed_edge)};
}

std::int64_t hdf5_bytes(const VolumeFacts& facts) {
  const Vec3 chunk = chunk_of_planes(facts.n);
  const Vec3 stored = {facts.n.z, round_up(facts.n.y, chunk.y), round_up(facts.n.x, chunk.x)};
  return mul(mul(facts.channels, voxels(stored)), voxel_bytes(facts.type));
}

}  // namespace znni::client
