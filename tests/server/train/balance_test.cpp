#include "server/train/balance.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/train/volumes.hpp"

namespace znni {
namespace {

using client::Box;
using client::Scratch;
using testing::ElementsAre;

TEST(TrainBalance, ClassesAreThoseOfTheTargets) {
  EXPECT_THAT(classes_of(TargetKind::classes, {{3, 0, 7}, {1, 1, 0}}), ElementsAre(3, 0, -1));
  EXPECT_THAT(classes_of(TargetKind::boundaries, {{1, 0, 1}, {1, 1, 0}}), ElementsAre(1, 0, -1));
  EXPECT_THAT(classes_of(TargetKind::affinities, {{1, 1, 1, /**/ 1, 0, 1, /**/ 1, 1, 1}, {1, 1, 0}}),
              ElementsAre(1, 0, -1));
}

// Two volumes, of which the second has a rare class and one that the first lacks.
class TwoVolumes {
 public:
  TwoVolumes() {
    std::vector<std::uint8_t> first(24, 1);
    first[5] = 2;
    std::vector<std::uint8_t> second(60, 1);
    second[33] = 9;
    second[34] = 2;
    add("a", {2, 3, 4}, first);
    add("b", {3, 4, 5}, second);
  }

  std::vector<LabelledVolume> volumes;

 private:
  void add(const std::string& name, Vec3 n, const std::vector<std::uint8_t>& labels) {
    test::write_volume(scratch_.file(name + ".npy"), n, labels);
    VolumeMemory memory;
    Result<LabelledVolume> volume =
        LabelledVolume::open(scratch_.file(name + ".npy"), scratch_.file(name + ".npy"), "", memory);
    ASSERT_TRUE(volume) << volume.error().message;
    volumes.push_back(*std::move(volume));
  }

  Scratch scratch_;
};

TEST(TrainBalance, VoxelsAreCountedWithinTheBoxes) {
  const TwoVolumes two;
  ClassRows rows(TargetKind::classes);
  ASSERT_TRUE(rows.add_volume(two.volumes[0], {{}, {2, 3, 4}}));
  EXPECT_THAT(rows.counts(), ElementsAre(std::pair(1, 23), std::pair(2, 1)));
  ASSERT_TRUE(rows.add_volume(two.volumes[1], {{1, 1, 1}, {2, 4, 5}}));
  EXPECT_THAT(rows.counts(), ElementsAre(std::pair(1, 33), std::pair(2, 2), std::pair(9, 1)));
  EXPECT_EQ(rows.memory_bytes(), 3 * (6 + 3) * 8);
}

TEST(TrainBalance, EachClassIsDrawnAsOftenAndEachOfItsVoxels) {
  const TwoVolumes two;
  ClassRows rows(TargetKind::classes);
  ASSERT_TRUE(rows.add_volume(two.volumes[0], {{}, {2, 3, 4}}));
  ASSERT_TRUE(rows.add_volume(two.volumes[1], {{}, {3, 4, 5}}));
  std::map<std::uint64_t, int> drawn;
  std::map<std::pair<std::size_t, std::int64_t>, int> voxels;
  constexpr int draws = 9000;
  for (std::uint64_t step = 0; step < draws; ++step) {
    CounterRandom random(1, step, RandomStream::place);
    const Result<PlaceInVolume> place = rows.draw(two.volumes, random);
    ASSERT_TRUE(place) << place.error().message;
    const Vec3 v = place->voxel;
    const Result<LabelPatch> labels = two.volumes[place->volume].labels_around({v, v + Vec3::cube(1)});
    const std::uint64_t label = labels->labels[13];
    ++drawn[label];
    if (label == 2) ++voxels[{place->volume, (v.z * 4 + v.y) * 5 + v.x}];
    if (label == 1) voxels[{place->volume + 2, (v.z * 4 + v.y) * 5 + v.x}] = 1;
  }
  ASSERT_EQ(drawn.size(), 3U);
  for (const auto& [label, count] : drawn) EXPECT_NEAR(count, draws / 3, 200) << label;
  EXPECT_EQ(voxels.size(), 2U + 23U + 58U);       // all of class 2, and all of class 1
  EXPECT_NEAR((voxels[{0, 6}]), draws / 6, 150);  // voxel 5 of the first is at 0, 1, 1
  EXPECT_NEAR((voxels[{1, 34}]), draws / 6, 150);
}

TEST(TrainBalance, UnlabelledVoxelsAreNotDrawn) {
  const Scratch scratch;
  const std::string labels = scratch.file("labels.npy");
  const std::string mask = scratch.file("mask.npy");
  test::write_volume(labels, {1, 2, 3}, std::vector<std::uint8_t>{1, 2, 3, 1, 2, 3});
  test::write_volume(mask, {1, 2, 3}, std::vector<std::uint8_t>{1, 1, 0, 0, 1, 0});
  VolumeMemory memory;
  const Result<LabelledVolume> volume = LabelledVolume::open(labels, labels, mask, memory);
  ASSERT_TRUE(volume);
  ClassRows rows(TargetKind::classes);
  ASSERT_TRUE(rows.add_volume(*volume, {{}, {1, 2, 3}}));
  EXPECT_THAT(rows.counts(), ElementsAre(std::pair(1, 1), std::pair(2, 2)));
}

TEST(TrainBalance, TooManyClassesAreRefused) {
  const Scratch scratch;
  const std::string labels = scratch.file("labels.npy");
  std::vector<std::uint16_t> all;
  for (std::uint16_t label = 0; label < 1025; ++label) all.push_back(label);
  test::write_volume(labels, {1, 1, 1025}, all);
  VolumeMemory memory;
  const Result<LabelledVolume> volume = LabelledVolume::open(labels, labels, "", memory);
  ASSERT_TRUE(volume);
  EXPECT_TRUE(ClassRows(TargetKind::classes).add_volume(*volume, {{}, {1, 1, 1024}}));
  const Result<void> refused = ClassRows(TargetKind::classes).add_volume(*volume, {{}, {1, 1, 1025}});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("more than 1024 classes"));
}

}  // namespace
}  // namespace znni
