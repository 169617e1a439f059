#include "client/cli/padded_reader.hpp"

#include <cstring>
#include <random>

#include "tests/client/scratch.hpp"

namespace znni::client {
namespace {

const VolumeFacts facts{2, {4, 6, 7}, VoxelType::u8};

// A source that gives the test volume and notes what is read of it.
VolumeSource test_source(Box& read) {
  return {facts, [&read](std::int64_t z, const Box& box, std::span<std::byte> out) -> Result<void> {
            read = box;
            const std::vector<std::byte> window = test_window(facts, z, box);
            EXPECT_EQ(window.size(), out.size());
            std::copy(window.begin(), window.end(), out.begin());
            return {};
          }};
}

// Voxel by voxel.
std::vector<std::byte> padded(const PaddedExtent& extent, const Box& box, std::int64_t plane, const Box& window) {
  std::vector<std::byte> voxels;
  for (std::int64_t c = 0; c < facts.channels; ++c) {
    for (std::int64_t y = window.start.y; y < window.stop.y; ++y) {
      for (std::int64_t x = window.start.x; x < window.stop.x; ++x) {
        const auto from_z = source_position(extent, 0, plane);
        const auto from_y = source_position(extent, 1, y);
        const auto from_x = source_position(extent, 2, x);
        voxels.push_back(std::byte{0});
        if (!from_z || !from_y || !from_x) continue;
        const Vec3 at = box.start + Vec3{*from_z, *from_y, *from_x};
        voxels.back() = test_plane(facts, at.z)[static_cast<std::size_t>((c * facts.n.y + at.y) * facts.n.x + at.x)];
      }
    }
  }
  return voxels;
}

TEST(PaddedReader, AnyWindowOfAnyPadding) {
  std::mt19937 random(5);
  const auto integer = [&random](std::int64_t first, std::int64_t last) {
    return std::uniform_int_distribution<std::int64_t>(first, last)(random);
  };
  for (int i = 0; i < 200; ++i) {
    const Padding padding = static_cast<Padding>(integer(0, 2));
    const Vec3 fov = {integer(1, 9), integer(1, 9), integer(1, 9)};
    const Box box{{integer(0, 3), integer(0, 5), integer(0, 6)}, facts.n};
    const PaddedExtent extent = pad(padding, box.extent(), fov);
    const Vec3 start = {0, integer(0, extent.outer.y - 1), integer(0, extent.outer.x - 1)};
    const Box window{start, {1, integer(start.y + 1, extent.outer.y), integer(start.x + 1, extent.outer.x)}};
    Box read;
    const PaddedVolume volume{test_source(read), box, extent, std::nullopt, std::nullopt};
    PaddedReader reader(volume, window);
    for (std::int64_t plane = 0; plane < extent.outer.z; ++plane) {
      const std::vector<std::byte> wanted = padded(extent, box, plane, window);
      std::vector<std::byte> found(wanted.size());
      ASSERT_TRUE(reader.read(plane, found));
      ASSERT_EQ(found, wanted) << to_string(padding) << " window " << to_string(window);
    }
  }
}

TEST(PaddedReader, NoMoreOfTheFileIsReadThanAWindowNeeds) {
  Box read;
  const PaddedVolume volume{test_source(read), {{0, 1, 0}, facts.n}, pad(Padding::none, {4, 5, 7}, {1, 1, 1}), {}, {}};
  PaddedReader reader(volume, {{0, 2, 3}, {1, 4, 5}});
  std::vector<std::byte> plane(2 * 2 * 2);
  ASSERT_TRUE(reader.read(0, plane));
  EXPECT_EQ(read.start.y, 3);
  EXPECT_EQ(read.stop.y, 5);
  EXPECT_EQ(read.start.x, 3);
  EXPECT_EQ(read.stop.x, 5);
}

TEST(PaddedReader, ScaleIsAppliedToPaddingToo) {
  Box read;
  const PaddedVolume volume{
      test_source(read), {{0, 0, 0}, facts.n}, pad(Padding::zero, facts.n, {3, 3, 3}), 2.0F, 1.5F};
  PaddedReader reader(volume, {{0, 0, 0}, volume.extent.outer});
  std::vector<float> plane(static_cast<std::size_t>(2 * 8 * 9));
  ASSERT_TRUE(reader.read(0, std::as_writable_bytes(std::span(plane))));
  EXPECT_EQ(plane, std::vector<float>(plane.size(), 1.5F));
  ASSERT_TRUE(reader.read(1, std::as_writable_bytes(std::span(plane))));
  EXPECT_EQ(plane[10], 2.0F * static_cast<float>(std::to_integer<int>(test_plane(facts, 0)[0])) + 1.5F);
}

}  // namespace
}  // namespace znni::client
