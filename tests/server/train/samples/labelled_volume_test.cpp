#include "server/train/samples/labelled_volume.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/server/train/volumes.hpp"

namespace znni {
namespace {

using client::Scratch;
using testing::HasSubstr;

constexpr Vec3 n{4, 5, 6};

struct Files {
  Scratch scratch;
  std::string raw = scratch.file("raw.npy");
  std::string labels = scratch.file("labels.npy");
  std::string mask = scratch.file("mask.npy");

  Files() {
    test::write_volume(raw, n, test::some_voxels<std::uint8_t>(120, 200));
    test::write_volume(labels, n, test::some_voxels<std::uint16_t>(120, 9000));
    test::write_volume(mask, n, test::some_voxels<std::uint8_t>(120, 2));
  }
};

TEST(TrainLabelledVolume, LabelsHaveTheMarginAroundThem) {
  const Files files;
  const std::vector<std::uint16_t> labels = test::some_voxels<std::uint16_t>(120, 9000);
  const std::vector<std::uint8_t> mask = test::some_voxels<std::uint8_t>(120, 2);
  VolumeMemory memory;
  const Result<LabelledVolume> volume = LabelledVolume::open({files.raw, files.labels, files.mask}, memory);
  ASSERT_TRUE(volume) << volume.error().message;
  for (const client::Box& box : {client::Box{{1, 1, 1}, {3, 4, 5}}, client::Box{{0, 2, 3}, {4, 5, 6}}}) {
    const Result<LabelPatch> patch = volume->labels_around(box);
    ASSERT_TRUE(patch);
    EXPECT_EQ(patch->n, box.extent() + Vec3::cube(2));
    std::size_t at = 0;
    for (std::int64_t z = box.start.z - 1; z < box.stop.z + 1; ++z) {
      for (std::int64_t y = box.start.y - 1; y < box.stop.y + 1; ++y) {
        for (std::int64_t x = box.start.x - 1; x < box.stop.x + 1; ++x, ++at) {
          const bool is_inside = covers(Vec3{z, y, x}, {}) && covers(n - Vec3::cube(1), {z, y, x});
          const auto from = static_cast<std::size_t>((z * n.y + y) * n.x + x);
          EXPECT_EQ(patch->known[at], is_inside && mask[from] != 0 ? 1 : 0);
          EXPECT_EQ(patch->labels[at], is_inside ? labels[from] : 0);
        }
      }
    }
  }
}

TEST(TrainLabelledVolume, WithoutAMaskAllVoxelsAreLabelled) {
  const Files files;
  VolumeMemory memory;
  const Result<LabelledVolume> volume = LabelledVolume::open({files.raw, files.labels, ""}, memory);
  ASSERT_TRUE(volume);
  EXPECT_THAT(volume->labels_around({Vec3::cube(1), Vec3::cube(3)})->known, testing::Each(1));
}

TEST(TrainLabelledVolume, WeightsLieWhereTheirVoxelsLie) {
  const Files files;
  const std::string name = files.scratch.file("weights.npy");
  const std::vector<std::uint8_t> weights = test::some_voxels<std::uint8_t>(120, 7);
  test::write_volume(name, n, weights);
  VolumeMemory memory;
  const Result<LabelledVolume> volume = LabelledVolume::open({files.raw, files.labels, "", name}, memory);
  ASSERT_TRUE(volume) << volume.error().message;
  EXPECT_TRUE(volume->has_weights());
  EXPECT_TRUE(volume->check_weights());
  const client::Box box{{0, 2, 3}, {4, 5, 6}};
  const Result<LabelPatch> patch = volume->labels_around(box);
  ASSERT_TRUE(patch);
  const Vec3 inner = box.extent();
  for (std::int64_t at = 0; at < voxels(inner); ++at) {
    const Vec3 v{at / (inner.y * inner.x), at / inner.x % inner.y, at % inner.x};
    const Vec3 from = v + box.start;
    const Vec3 to = v + Vec3::cube(target_margin);
    EXPECT_EQ(patch->weights[static_cast<std::size_t>((to.z * patch->n.y + to.y) * patch->n.x + to.x)],
              weights[static_cast<std::size_t>((from.z * n.y + from.y) * n.x + from.x)]);
  }
}

TEST(TrainLabelledVolume, WrongWeightsAreRefused) {
  const Files files;
  const std::string name = files.scratch.file("weights.npy");
  const auto refusal = [&](float wrong) {
    std::vector<float> weights(120, 0.5F);
    weights[119] = wrong;
    test::write_volume(name, n, weights);
    VolumeMemory memory;
    const Result<LabelledVolume> volume = LabelledVolume::open({files.raw, files.labels, "", name}, memory);
    const Result<void> sound = volume ? volume->check_weights() : volume.error();
    return sound ? std::string() : sound.error().message;
  };
  EXPECT_EQ(refusal(0), "");
  EXPECT_EQ(refusal(-0.25F), name + ": a voxel of 3:4,0:5,0:6 has weight -0.250000; at least 0 is right");
  EXPECT_THAT(refusal(std::numeric_limits<float>::infinity()), HasSubstr("is NaN or infinite"));
}

TEST(TrainLabelledVolume, FilesOfOtherExtentsAreRefused) {
  const Files files;
  const std::string other = files.scratch.file("other.npy");
  test::write_volume(other, {4, 5, 5}, test::some_voxels<std::uint8_t>(100, 2));
  VolumeMemory memory;
  const auto refusal = [&](const std::string& labels, const std::string& mask, const std::string& weights = "") {
    return LabelledVolume::open({files.raw, labels, mask, weights}, memory).error().message;
  };
  EXPECT_EQ(refusal(other, ""),
            other + ": has an extent of 4x5x5; " + files.raw + " has 4x5x6, and each of its voxels needs one here");
  EXPECT_THAT(refusal(files.labels, other), testing::StartsWith(other + ": has an extent"));
  EXPECT_THAT(refusal(files.labels, "", other), testing::StartsWith(other + ": has an extent"));
  EXPECT_THAT(refusal(files.scratch.file("none.npy"), ""), HasSubstr("none.npy: "));
}

}  // namespace
}  // namespace znni
