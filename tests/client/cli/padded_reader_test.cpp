#include "client/cli/padded_reader.hpp"

#include <array>
#include <cstring>
#include <random>

#include "tests/client/scratch.hpp"

namespace znni::client {
namespace {

const VolumeFacts own_facts{2, {4, 6, 7}, VoxelType::u8};

// Returns a source of the test volume that stores each box read in `read`.
VolumeSource test_source(Box& read) {
  return {own_facts, [&read](std::int64_t z, const Box& box, std::span<std::byte> out) -> Result<void> {
            read = box;
            const std::vector<std::byte> window = test_window(own_facts, z, box);
            EXPECT_EQ(window.size(), out.size());
            std::copy(window.begin(), window.end(), out.begin());
            return {};
          }};
}

// Cuts each of `boxes` that contains position `at` of `axis` into two.
void cut(std::vector<Box>& boxes, int axis, std::int64_t at) {
  const std::size_t count = boxes.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (boxes[i].start[axis] >= at || boxes[i].stop[axis] <= at) continue;
    Box behind = boxes[i];
    behind.start[axis] = boxes[i].stop[axis] = at;
    boxes.push_back(behind);
  }
}

// Returns the grid of boxes between random cuts along each axis.
template <typename IsCut>
std::vector<Box> tiling(Vec3 n, const IsCut& is_cut) {
  std::vector<Box> boxes = {{{0, 0, 0}, n}};
  for (int axis = 0; axis < 3; ++axis) {
    for (std::int64_t at = 1; at < n[axis]; ++at) {
      if (is_cut(at)) cut(boxes, axis, at);
    }
  }
  return boxes;
}

// Returns a padded plane, computed voxel by voxel.
std::vector<std::byte> padded(const PaddedExtent& extent, std::int64_t plane, const Box& window) {
  std::vector<std::byte> voxels;
  for (std::int64_t c = 0; c < own_facts.channels; ++c) {
    for (std::int64_t y = window.start.y; y < window.stop.y; ++y) {
      for (std::int64_t x = window.start.x; x < window.stop.x; ++x) {
        const auto from_z = source_position(extent, 0, plane);
        const auto from_y = source_position(extent, 1, y);
        const auto from_x = source_position(extent, 2, x);
        voxels.push_back(std::byte{0});
        if (!from_z || !from_y || !from_x) continue;
        const Vec3 at{*from_z, *from_y, *from_x};
        voxels.back() =
            test_plane(own_facts, at.z)[static_cast<std::size_t>((c * own_facts.n.y + at.y) * own_facts.n.x + at.x)];
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
    const Padding padding = static_cast<Padding>(integer(0, 3));
    const Vec3 fov = {integer(1, 9), integer(1, 9), integer(1, 9)};
    const Box box{{integer(0, 3), integer(0, 5), integer(0, 6)}, own_facts.n};
    const PaddedExtent extent = pad(padding, own_facts.n, box, fov);
    const Vec3 start = {0, integer(0, extent.outer.y - 1), integer(0, extent.outer.x - 1)};
    const Box window{start, {1, integer(start.y + 1, extent.outer.y), integer(start.x + 1, extent.outer.x)}};
    Box read;
    const PaddedVolume volume{test_source(read), box, extent, std::nullopt, std::nullopt};
    PaddedReader reader(volume, window);
    for (std::int64_t plane = 0; plane < extent.outer.z; ++plane) {
      const std::vector<std::byte> wanted = padded(extent, plane, window);
      std::vector<std::byte> found(wanted.size());
      ASSERT_TRUE(reader.read(plane, found));
      ASSERT_EQ(found, wanted) << to_string(padding) << " window " << to_string(window);
    }
  }
}

std::vector<std::byte> all_planes(const PaddedVolume& volume) {
  PaddedReader reader(volume, {{0, 0, 0}, volume.extent.outer});
  std::vector<std::byte> found;
  std::vector<std::byte> plane(
      static_cast<std::size_t>(own_facts.channels * volume.extent.outer.y * volume.extent.outer.x));
  for (std::int64_t z = 0; z < volume.extent.outer.z; ++z) {
    EXPECT_TRUE(reader.read(z, plane));
    found.insert(found.end(), plane.begin(), plane.end());
  }
  return found;
}

// Returns rows and columns of `box` from [z][channels][y][x] voxels of extent `n`.
std::vector<std::byte> crop_of(const std::vector<std::byte>& from, Vec3 n, const Box& box) {
  std::vector<std::byte> found;
  for (std::int64_t row = 0; row < n.z * own_facts.channels * n.y; ++row) {
    const std::int64_t z = row / (own_facts.channels * n.y);
    const bool is_in = z >= box.start.z && z < box.stop.z && row % n.y >= box.start.y && row % n.y < box.stop.y;
    const auto begin = from.begin() + row * n.x;
    if (is_in) found.insert(found.end(), begin + box.start.x, begin + box.stop.x);
  }
  return found;
}

// For a box the reader sends the same voxels as the whole run does at that place, so the outputs are equal.
TEST(PaddedReader, AnyTilingByBoxesSendsWhatTheWholeDoes) {
  std::mt19937 random(11);
  const auto integer = [&random](std::int64_t first, std::int64_t last) {
    return std::uniform_int_distribution<std::int64_t>(first, last)(random);
  };
  const auto is_cut = [&integer](std::int64_t) { return integer(0, 2) == 0; };
  Box ignored;
  for (int i = 0; i < 90; ++i) {
    const Padding padding = static_cast<Padding>(i % 4);
    const Vec3 fov = {integer(1, 9), integer(1, 9), integer(1, 9)};
    const Vec3 border = padding == Padding::none ? Vec3::cube(0) : fov - Vec3::cube(1);
    const Box all{{0, 0, 0}, own_facts.n};
    const PaddedVolume whole{test_source(ignored), all, pad(padding, own_facts.n, all, fov), {}, {}};
    const std::vector<std::byte> sent = all_planes(whole);
    for (const Box& box : tiling(own_facts.n, is_cut)) {
      const PaddedVolume one{test_source(ignored), box, pad(padding, own_facts.n, box, fov), {}, {}};
      ASSERT_EQ(all_planes(one), crop_of(sent, whole.extent.outer, {box.start, box.stop + border}))
          << to_string(padding) << " fov " << to_string(fov) << " box " << to_string(box);
    }
  }
}

TEST(PaddedReader, NoMoreOfTheFileIsReadThanAWindowNeeds) {
  Box read;
  const Box box{{0, 1, 0}, own_facts.n};
  const PaddedVolume volume{test_source(read), box, pad(Padding::none, own_facts.n, box, {1, 1, 1}), {}, {}};
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
  const Box whole{{0, 0, 0}, own_facts.n};
  const PaddedVolume volume{test_source(read), whole, pad(Padding::zero, own_facts.n, whole, {3, 3, 3}), 2.0F, 1.5F};
  PaddedReader reader(volume, {{0, 0, 0}, volume.extent.outer});
  std::vector<float> plane(static_cast<std::size_t>(2 * 8 * 9));
  ASSERT_TRUE(reader.read(0, std::as_writable_bytes(std::span(plane))));
  EXPECT_EQ(plane, std::vector<float>(plane.size(), 1.5F));
  ASSERT_TRUE(reader.read(1, std::as_writable_bytes(std::span(plane))));
  EXPECT_EQ(plane[10], 2.0F * static_cast<float>(std::to_integer<int>(test_plane(own_facts, 0)[0])) + 1.5F);
}

// float64 holds more than float32 does; the voxel is named as it is sent.
TEST(PaddedReader, AVoxelThatBecomesInfiniteIsNoticed) {
  const VolumeSource source{{1, {1, 1, 2}, VoxelType::f64},
                            [](std::int64_t, const Box&, std::span<std::byte> out) -> Result<void> {
                              const std::array numbers = {1e39, 3e38};
                              std::memcpy(out.data(), numbers.data(), out.size());
                              return {};
                            }};
  const Box whole{{}, source.facts.n};
  const PaddedExtent extent = pad(Padding::none, source.facts.n, whole, {1, 1, 1});
  for (const auto& [scale, words] : {std::pair(0.1F, ""), std::pair(1.0F, "channel 0, z 0, y 0, x 0 (inf)"),
                                     std::pair(-1.0F, "channel 0, z 0, y 0, x 0 (-inf)")}) {
    const PaddedVolume volume{source, whole, extent, scale, 0.0F};
    PaddedReader reader(volume, whole);
    std::array<float, 2> sent{};
    ASSERT_TRUE(reader.read(0, std::as_writable_bytes(std::span(sent))));
    EXPECT_EQ(sent[1], static_cast<float>(3e38 * static_cast<double>(scale)));
    EXPECT_EQ(reader.nonfinite() ? to_string(*reader.nonfinite()) : "", words);
  }
}

}  // namespace
}  // namespace znni::client
