#include "client/files/voxel_type.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace znni::client {
namespace {

TEST(VoxelTypeNames, RoundTrip) {
  for (const VoxelType type : {VoxelType::u8, VoxelType::u16, VoxelType::f16, VoxelType::f32}) {
    EXPECT_EQ(*parse_voxel_type(numpy_name(type)), type);
  }
  EXPECT_FALSE(parse_voxel_type("int32"));
  EXPECT_EQ(wire_name(VoxelType::f16), "FP16");
  EXPECT_EQ(voxel_bytes(VoxelType::u16), 2);
}

TEST(VoxelTypeNames, TypesOfLabelsAreNoneOfVoxels) {
  EXPECT_FALSE(parse_voxel_type("uint32"));
  EXPECT_FALSE(parse_voxel_type("uint64"));
  EXPECT_TRUE(is_label_type(VoxelType::u64));
  EXPECT_FALSE(is_label_type(VoxelType::u16));
  EXPECT_EQ(numpy_name(VoxelType::u32), "uint32");
  EXPECT_EQ(unsigned_type(4), VoxelType::u32);
  EXPECT_EQ(unsigned_type(8), VoxelType::u64);
  EXPECT_EQ(unsigned_type(3), std::nullopt);
}

template <class Voxel>
void expect_normalised(VoxelType type) {
  const std::vector<Voxel> voxels = {Voxel(0), Voxel(3), Voxel(200)};
  std::vector<std::byte> bytes(voxels.size() * sizeof(Voxel));
  std::memcpy(bytes.data(), voxels.data(), bytes.size());
  std::vector<float> out(voxels.size());
  normalise(bytes, type, 0.5F, -1.0F, out);
  EXPECT_EQ(out, (std::vector<float>{-1.0F, 0.5F, 99.0F}));
}

TEST(VoxelTypeNames, NormaliseScalesThenShifts) {
  expect_normalised<std::uint8_t>(VoxelType::u8);
  expect_normalised<std::uint16_t>(VoxelType::u16);
  expect_normalised<float>(VoxelType::f32);
}

}  // namespace
}  // namespace znni::client
