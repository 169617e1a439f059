#include "server/volume/checked_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "primitives/core/half.hpp"
#include "tests/server/volume/random_volume.hpp"

namespace znni {
namespace {

using test::RandomVolume;
using testing::HasSubstr;

constexpr float infinite = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

void put(RandomVolume& volume, std::int64_t channel, Vec3 at, float value) {
  std::byte* const to =
      volume.bytes.data() + test::voxel_index(volume.shape, channel, at) * element_bytes(volume.shape.type);
  const std::uint16_t half = half_from_float(value);
  if (volume.shape.type == ElementType::f32) std::memcpy(to, &value, sizeof(value));
  if (volume.shape.type == ElementType::f16) std::memcpy(to, &half, sizeof(half));
}

TEST(CountNonfinite, EveryHalf) {
  std::vector<std::uint16_t> all(1 << 16);
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<std::uint16_t>(i);
    expected += std::isfinite(float_from_half(all[i])) ? 0 : 1;
  }
  EXPECT_EQ(count_nonfinite(ElementType::f16, std::as_bytes(std::span(all)).data(), std::ssize(all)), expected);
}

// One float of each 997, of all that there are, at an odd address.
TEST(CountNonfinite, FloatsOfAllKinds) {
  std::vector<std::byte> bytes(1);
  std::int64_t count = 0;
  std::int64_t expected = 0;
  for (std::uint64_t bits = test::base_seed() % 997; bits < std::uint64_t{1} << 32; bits += 997, ++count) {
    const auto value = std::bit_cast<std::array<std::byte, 4>>(static_cast<std::uint32_t>(bits));
    bytes.insert(bytes.end(), value.begin(), value.end());
    expected += std::isfinite(std::bit_cast<float>(value)) ? 0 : 1;
  }
  EXPECT_EQ(count_nonfinite(ElementType::f32, bytes.data() + 1, count), expected);
}

TEST(CountNonfinite, IntegersAreNumbers) {
  const std::vector<std::byte> ones(1000, std::byte{255});
  EXPECT_EQ(count_nonfinite(ElementType::u8, ones.data(), 1000), 0);
  EXPECT_EQ(count_nonfinite(ElementType::u16, ones.data(), 500), 0);
  EXPECT_EQ(count_nonfinite(ElementType::f32, ones.data(), 250), 250);
  EXPECT_FALSE(can_be_nonfinite(ElementType::u8) || can_be_nonfinite(ElementType::u16));
}

TEST(CheckVolume, NamesTheVoxelAndItsValue) {
  test::Random random(test::base_seed());
  for (const ElementType type : {ElementType::f32, ElementType::f16}) {
    for (const float value : {nan, infinite, -infinite}) {
      RandomVolume volume = test::random_volume(3, {5, 70, 80}, type, random);
      EXPECT_EQ(*check_volume(volume.view(), 0, {}), 0);
      const Vec3 at{random.integer(0, 4), random.integer(0, 69), random.integer(0, 79)};
      put(volume, 2, at, value);
      const Result<std::int64_t> refused = check_volume(volume.view(), 0, {});
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
      EXPECT_THAT(refused.error().message,
                  HasSubstr("the input voxel at channel 2, z " + std::to_string(at.z) + ", y " + std::to_string(at.y) +
                            ", x " + std::to_string(at.x) + " is " + std::to_string(value)));
      EXPECT_THAT(refused.error().message, HasSubstr("parameter input_nonfinite"));
      EXPECT_EQ(*check_volume(volume.view(), 0, 7.0F), 1);
      EXPECT_TRUE(check_volume(volume.view(), at.z + 1, {})) << "planes that are never read";
    }
  }
}

// Planes go by, some wanted again; each is counted once.
TEST(CheckedSource, LooksAtEachPlaneOnceBeforeItIsRead) {
  test::Random random(test::base_seed());
  RandomVolume volume = test::random_volume(2, {9, 4, 5}, ElementType::f32, random);
  for (std::int64_t z = 0; z < 9; ++z) put(volume, z % 2, {z, z % 4, z % 5}, nan);
  WholeVolume whole(volume.view());
  CheckedSource counting(whole, 0.0F);
  for (const auto& [planes, replaced] :
       {std::pair{PlaneRange{1, 3}, 2}, {PlaneRange{1, 3}, 2}, {PlaneRange{2, 6}, 5}, {PlaneRange{7, 9}, 7}}) {
    counting.want(planes);
    EXPECT_TRUE(counting.here());
    ASSERT_TRUE(counting.wait({}));
    EXPECT_EQ(counting.replaced(), replaced);
  }
  EXPECT_EQ(counting.shape(), volume.shape);
  EXPECT_EQ(counting.plane(1, 3), whole.plane(1, 3));
  put(volume, 0, {0, 0, 0}, 1);
  CheckedSource refusing(whole, {});
  refusing.want({0, 1});
  ASSERT_TRUE(refusing.wait({}));
  refusing.want({0, 5});
  EXPECT_THAT(refusing.wait({}).error().message, HasSubstr("channel 1, z 1, y 1, x 1 is nan"));
}

}  // namespace
}  // namespace znni
