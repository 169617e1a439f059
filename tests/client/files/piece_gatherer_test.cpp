#include "client/files/piece_gatherer.hpp"

#include <map>

#include "client/files/packing.hpp"
#include "tests/client/scratch.hpp"

namespace znni::client {
namespace {

const ChunkGrid grid{{2, {5, 7, 9}, VoxelType::u16}, {3, 4, 5}};

Result<PieceFile> new_file(const Scratch& scratch) { return PieceFile::open(scratch.file("pieces"), "", false); }

void take(PieceGatherer& gatherer, std::int64_t first, std::int64_t last, const Box& box) {
  for (std::int64_t z = first; z < last; ++z) ASSERT_TRUE(gatherer.take(z, box, test_window(grid.facts, z, box)));
}

std::vector<Piece> pieces_at(const PieceFile& file, std::int64_t channel, Vec3 at) {
  std::vector<Piece> found;
  for (const Piece& piece : file.pieces()) {
    if (piece.channel == channel && grid.box_at(piece.box.start) == grid.box_at(at)) found.push_back(piece);
  }
  return found;
}

// Expects each chunk to have its voxels of the test volume, and zeros beside it.
void expect_chunks(const PieceFile& file) {
  for (std::int64_t channel = 0; channel < 2; ++channel) {
    for (const Vec3 start : {Vec3{0, 0, 0}, Vec3{0, 4, 5}, Vec3{3, 0, 0}, Vec3{3, 4, 5}}) {
      const auto packed = packed_chunk(grid, file, pieces_at(file, channel, start));
      ASSERT_TRUE(packed) << packed.error().message;
      std::vector<std::byte> expected(static_cast<std::size_t>(2 * voxels(grid.chunk)));
      std::vector<std::byte> seen(expected.size());
      ASSERT_TRUE(unpack(*packed, 2, seen));
      const Box box = grid.box_at(start);
      for (std::int64_t z = box.start.z; z < box.stop.z; ++z) {
        const std::vector<std::byte> plane = test_plane(grid.facts, z);
        for (std::int64_t y = box.start.y; y < box.stop.y; ++y) {
          const auto from = plane.begin() + 2 * ((channel * 7 + y) * 9 + box.start.x);
          const Vec3 to = Vec3{z, y, box.start.x} - start;
          std::copy_n(from, 2 * box.extent().x, expected.begin() + 2 * ((to.z * 4 + to.y) * 5 + to.x));
        }
      }
      EXPECT_EQ(seen, expected);
    }
  }
}

TEST(ChunkGrid, CountsTheChunksOfAllChannels) {
  EXPECT_EQ(grid.count(), 2 * 2 * 2 * 2);
  EXPECT_EQ(grid.box_at({2, 3, 4}), (Box{{0, 0, 0}, {3, 4, 5}}));
  EXPECT_EQ(grid.box_at({4, 4, 8}), (Box{{3, 4, 5}, {5, 7, 9}}));
}

TEST(PieceGatherer, WholePlanesBecomeWholeChunks) {
  const Scratch scratch;
  Result<PieceFile> file = new_file(scratch);
  PieceGatherer gatherer(grid, *file);
  take(gatherer, 0, 2, {{0, 0, 0}, grid.facts.n});
  EXPECT_TRUE(file->pieces().empty());
  take(gatherer, 2, 3, {{0, 0, 0}, grid.facts.n});
  EXPECT_EQ(file->pieces().size(), 8U);
  take(gatherer, 3, 5, {{0, 0, 0}, grid.facts.n});
  EXPECT_EQ(file->pieces().size(), 16U) << "the last layer is thinner";
  expect_chunks(*file);
}

// Parts and layers that end within chunks; one is written twice.
TEST(PieceGatherer, PartsOfChunksBecomeWholeChunks) {
  const Scratch scratch;
  Result<PieceFile> file = new_file(scratch);
  PieceGatherer gatherer(grid, *file);
  const Box left{{0, 0, 0}, {5, 7, 6}};
  const Box right{{0, 0, 6}, {5, 7, 9}};
  take(gatherer, 0, 2, left);
  ASSERT_TRUE(gatherer.end_layer());
  take(gatherer, 1, 4, left);
  ASSERT_TRUE(gatherer.end_layer());
  take(gatherer, 4, 5, left);
  take(gatherer, 0, 5, right);
  expect_chunks(*file);
}

TEST(PieceGatherer, ThePieceOfAPartThatEndsIsNotMixedWithTheNext) {
  const Scratch scratch;
  Result<PieceFile> file = new_file(scratch);
  PieceGatherer gatherer(grid, *file);
  take(gatherer, 0, 1, {{0, 0, 0}, {5, 4, 5}});
  take(gatherer, 0, 1, {{0, 0, 5}, {5, 4, 9}});
  ASSERT_TRUE(gatherer.end_layer());
  ASSERT_TRUE(gatherer.end_layer()) << "nothing is gathered";
  ASSERT_EQ(file->pieces().size(), 4U);
  EXPECT_EQ(file->pieces()[0].box, (Box{{0, 0, 0}, {1, 4, 5}}));
  EXPECT_EQ(file->pieces()[2].box, (Box{{0, 0, 5}, {1, 4, 9}}));
}

TEST(PieceGatherer, AChunkThatLacksVoxelsIsRefused) {
  const Scratch scratch;
  Result<PieceFile> file = new_file(scratch);
  PieceGatherer gatherer(grid, *file);
  take(gatherer, 0, 2, {{0, 0, 0}, grid.facts.n});
  take(gatherer, 1, 2, {{0, 0, 0}, grid.facts.n});
  ASSERT_TRUE(gatherer.end_layer());
  const auto packed = packed_chunk(grid, *file, pieces_at(*file, 0, {}));
  ASSERT_FALSE(packed);
  EXPECT_EQ(packed.error().code, ErrorCode::corrupt_file);
  EXPECT_EQ(packed.error().message, file->path() +
                                        ": lacks voxels of 0:3,0:4,0:5, or has others: start over with "
                                        "--overwrite");
}

}  // namespace
}  // namespace znni::client
