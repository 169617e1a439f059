#include "client/files/hdf5_chunks.hpp"

#include <gtest/gtest.h>

namespace znni::client {
namespace {

TEST(Hdf5Chunks, APlaneIsInEqualParts) {
  EXPECT_EQ(chunk_of_planes({9, 256, 255}), (Vec3{1, 256, 255}));
  EXPECT_EQ(chunk_of_planes({9, 257, 1}), (Vec3{1, 129, 1}));
  EXPECT_EQ(chunk_of_planes({9, 300, 1025}), (Vec3{1, 150, 205}));
}

TEST(Hdf5Chunks, FewVoxelsAreAdded) {
  for (std::int64_t n = 1; n < 3000; ++n) {
    const std::int64_t edge = chunk_of_planes({1, n, 1}).y;
    const std::int64_t chunks = div_up(n, edge);
    ASSERT_LE(edge, 256);
    ASSERT_EQ(chunks, div_up(n, 256)) << "no more chunks than whole ones of 256";
    ASSERT_LT(chunks * edge - n, chunks) << n;
  }
}

TEST(Hdf5Chunks, BytesCountWholeChunks) {
  EXPECT_EQ(hdf5_bytes({1, {7, 256, 512}, VoxelType::f32}), 7 * 256 * 512 * 4);
  EXPECT_EQ(hdf5_bytes({3, {7, 257, 10}, VoxelType::u16}), 3 * 7 * 258 * 10 * 2);
}

TEST(Hdf5Chunks, CompressedOnesAreCubes) {
  EXPECT_EQ(chunk_of_compressed({1, {128, 64, 640}, VoxelType::f32}), Vec3::cube(64));
  EXPECT_EQ(chunk_of_compressed({3, {65, 100, 1}, VoxelType::u8}), (Vec3{33, 50, 1}));
}

// 2048 x 2048 float32 are 16 MiB, of which 16 planes are 256 MiB.
TEST(Hdf5Chunks, ALayerOfCompressedOnesIsNotTooLarge) {
  EXPECT_EQ(chunk_of_compressed({1, {1024, 2048, 2048}, VoxelType::f32}).z, 16);
  EXPECT_EQ(chunk_of_compressed({4, {1024, 2048, 2048}, VoxelType::f32}).z, 4);
  EXPECT_EQ(chunk_of_compressed({1, {1024, 2048, 2048}, VoxelType::u8}).z, 64);
  EXPECT_EQ(chunk_of_compressed({1, {9, 100000, 100000}, VoxelType::f32}).z, 1);
}

}  // namespace
}  // namespace znni::client
