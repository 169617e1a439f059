// Planes that become compressed pieces of chunks, and chunks that become whole again.
#pragma once

#include <vector>

#include "client/files/files.hpp"
#include "client/files/piece_file.hpp"

namespace znni::client {

// A volume in chunks of `chunk` voxels. A piece has the bytes of a whole chunk, with zeros outside of its box.
struct ChunkGrid {
  VolumeFacts facts;
  Vec3 chunk;

  [[nodiscard]] std::int64_t count() const;  // of chunks, of all channels
  // Returns the voxels of the volume in the chunk that holds voxel `at`.
  [[nodiscard]] Box box_at(Vec3 at) const;
};

// Gathers planes until they fill a layer of chunks.
class PieceGatherer {
 public:
  PieceGatherer(const ChunkGrid& grid, PieceFile& file) : grid_(grid), file_(file) {}
  // Takes rows and columns of `box` in plane z, [channels][y][x]. Appends the pieces of a layer that is complete.
  [[nodiscard]] Result<void> take(std::int64_t z, const Box& box, std::span<const std::byte> plane);
  // Appends what has been gathered, though the layer is not complete.
  [[nodiscard]] Result<void> end_layer();

 private:
  [[nodiscard]] Result<void> append(std::int64_t channel, const Box& box);

  ChunkGrid grid_;
  PieceFile& file_;
  Box gathered_;                  // empty: nothing
  std::vector<std::byte> layer_;  // [channels][chunk.z][y][x] of what is gathered
};

// Returns the packed bytes of a chunk, of pieces of it; of those that overlap the last holds. Fails with corrupt_file
// if they lack a voxel.
[[nodiscard]] Result<std::vector<std::byte>> packed_chunk(const ChunkGrid& grid, const PieceFile& file,
                                                          const std::vector<Piece>& pieces);

}  // namespace znni::client
