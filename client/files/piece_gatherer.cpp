#include "client/files/piece_gatherer.hpp"

#include <algorithm>

#include "client/files/packing.hpp"

namespace znni::client {
namespace {

// Returns the first voxel of the chunk that holds `at`.
Vec3 chunk_start(Vec3 at, Vec3 chunk) { return at - at % chunk; }

// An array of voxels, [z][y][x], whose first one is at `start` of the volume.
template <class Byte>
struct Block {
  Vec3 start;
  Vec3 n;
  Byte* bytes;

  [[nodiscard]] Byte* at(std::int64_t z, std::int64_t y, std::int64_t x, std::int64_t width) const {
    return bytes + (((z - start.z) * n.y + y - start.y) * n.x + x - start.x) * width;
  }
};

// Copies the voxels of `box`, which lies in both blocks.
void copy_box(const Box& box, const Block<const std::byte>& from, const Block<std::byte>& to, std::int64_t width) {
  for (std::int64_t z = box.start.z; z < box.stop.z; ++z) {
    for (std::int64_t y = box.start.y; y < box.stop.y; ++y) {
      std::copy_n(from.at(z, y, box.start.x, width), box.extent().x * width, to.at(z, y, box.start.x, width));
    }
  }
}

std::size_t chunk_bytes(const ChunkGrid& grid) {
  return static_cast<std::size_t>(voxels(grid.chunk) * voxel_bytes(grid.facts.type));
}

Error lacking(const PieceFile& file, const Box& box) {
  return {ErrorCode::corrupt_file,
          file.path() + ": lacks voxels of " + to_string(box) + ", or has others: start over with --overwrite"};
}

// Assembles a chunk of pieces in `out`. Returns how many of its voxels they have.
Result<std::int64_t> assemble(const ChunkGrid& grid, const PieceFile& file, const std::vector<Piece>& pieces,
                              std::vector<std::byte>& out) {
  const std::int64_t width = voxel_bytes(grid.facts.type);
  const Vec3 start = chunk_start(pieces.front().box.start, grid.chunk);
  std::vector<std::byte> one(out.size());
  const std::vector<std::byte> ones(static_cast<std::size_t>(voxels(grid.chunk)), std::byte{1});
  std::vector<std::byte> there(ones.size());
  for (const Piece& piece : pieces) {
    const Result<std::vector<std::byte>> packed = file.read(piece);
    if (!packed) return packed.error();
    if (!unpack(*packed, width, one)) return lacking(file, piece.box);
    copy_box(piece.box, {start, grid.chunk, one.data()}, {start, grid.chunk, out.data()}, width);
    copy_box(piece.box, {start, grid.chunk, ones.data()}, {start, grid.chunk, there.data()}, 1);
  }
  return std::ranges::count(there, std::byte{1});
}

}  // namespace

std::int64_t ChunkGrid::count() const { return mul(facts.channels, voxels((facts.n + chunk - Vec3::cube(1)) / chunk)); }

Box ChunkGrid::box_at(Vec3 at) const {
  const Vec3 start = chunk_start(at, chunk);
  return {start, min(facts.n, start + chunk)};
}

Result<void> PieceGatherer::take(std::int64_t z, const Box& box, std::span<const std::byte> plane) {
  const auto begins_at = [&](std::int64_t first) {
    return Box{{first, box.start.y, box.start.x}, {z, box.stop.y, box.stop.x}};
  };
  if (gathered_ != begins_at(gathered_.start.z)) {
    if (Result<void> ended = end_layer(); !ended) return ended;
  }
  if (gathered_ == Box{}) gathered_ = begins_at(z);
  const auto bytes = static_cast<std::size_t>(box.extent().y * box.extent().x * voxel_bytes(grid_.facts.type));
  const auto depth = static_cast<std::size_t>(grid_.chunk.z);
  const auto channels = static_cast<std::size_t>(grid_.facts.channels);
  layer_.resize(channels * depth * bytes);
  const auto at = static_cast<std::size_t>(z % grid_.chunk.z);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    std::ranges::copy(plane.subspan(channel * bytes, bytes),
                      layer_.begin() + static_cast<std::ptrdiff_t>((channel * depth + at) * bytes));
  }
  gathered_.stop.z = z + 1;
  const bool is_complete = gathered_.stop.z % grid_.chunk.z == 0 || gathered_.stop.z == grid_.facts.n.z;
  return is_complete ? end_layer() : Result<void>();
}

Result<void> PieceGatherer::end_layer() {
  const Box whole = gathered_;
  for (std::int64_t channel = 0; channel < grid_.facts.channels; ++channel) {
    for (Vec3 at = whole.start; at.y < whole.stop.y; at.y = grid_.box_at(at).stop.y) {
      for (at.x = whole.start.x; at.x < whole.stop.x; at.x = grid_.box_at(at).stop.x) {
        const Box piece{at, min(whole.stop, grid_.box_at(at).stop)};
        if (Result<void> appended = append(channel, piece); !appended) return appended;
      }
      at.x = whole.start.x;
    }
  }
  gathered_ = {};
  return {};
}

Result<void> PieceGatherer::append(std::int64_t channel, const Box& box) {
  const std::int64_t width = voxel_bytes(grid_.facts.type);
  const Vec3 rows = gathered_.extent();
  const Vec3 layer{grid_.chunk.z, rows.y, rows.x};
  const Vec3 start = chunk_start(box.start, grid_.chunk);
  std::vector<std::byte> chunk(chunk_bytes(grid_));
  copy_box(box,
           {{start.z, gathered_.start.y, gathered_.start.x}, layer, layer_.data() + channel * voxels(layer) * width},
           {start, grid_.chunk, chunk.data()}, width);
  return file_.append(channel, box, pack(chunk, width));
}

Result<std::vector<std::byte>> packed_chunk(const ChunkGrid& grid, const PieceFile& file,
                                            const std::vector<Piece>& pieces) {
  const Box whole = grid.box_at(pieces.front().box.start);
  if (pieces.back().box == whole) return file.read(pieces.back());
  std::vector<std::byte> chunk(chunk_bytes(grid));
  const Result<std::int64_t> there = assemble(grid, file, pieces, chunk);
  if (!there) return there.error();
  if (*there != voxels(whole.extent())) return lacking(file, whole);
  return pack(chunk, voxel_bytes(grid.facts.type));
}

}  // namespace znni::client
