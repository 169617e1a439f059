#include "server/train/samples/balance.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/server/train/volumes.hpp"

namespace znni {
namespace {

using client::Box;
using client::Scratch;
using testing::ElementsAre;

ClassRows count(const std::vector<LabelledVolume>& volumes, std::vector<Box> boxes) {
  return ClassRows::count(TargetKind::classes, volumes, std::move(boxes), saturated).value();
}

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
        LabelledVolume::open({scratch_.file(name + ".npy"), scratch_.file(name + ".npy"), ""}, memory);
    ASSERT_TRUE(volume) << volume.error().message;
    volumes.push_back(*std::move(volume));
  }

  Scratch scratch_;
};

TEST(TrainBalance, VoxelsAreCountedWithinTheBoxes) {
  const TwoVolumes two;
  const ClassRows rows = count(two.volumes, {{{}, {2, 3, 4}}, {{1, 1, 1}, {2, 4, 5}}});
  EXPECT_THAT(rows.counts(), ElementsAre(std::pair(1, 33), std::pair(2, 2), std::pair(9, 1)));
  const std::int64_t band = 3 * (3 + 2) * (4 + 2) * 65;  // read as 8 bytes, as a number, and so on
  EXPECT_EQ(rows.memory_bytes(), 3 * (6 + 3) * 8 + band);
}

TEST(TrainBalance, WhatTakesTooMuchIsRefusedBeforeItIsAllocated) {
  const TwoVolumes two;
  const std::vector<Box> boxes = {{{}, {2, 3, 4}}, {{}, {3, 4, 5}}};
  const std::int64_t needed = count(two.volumes, boxes).memory_bytes();
  EXPECT_TRUE(ClassRows::count(TargetKind::classes, two.volumes, boxes, needed));
  const Result<ClassRows> refused = ClassRows::count(TargetKind::classes, two.volumes, boxes, needed - 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::over_budget);
  EXPECT_EQ(refused.error().message, two.volumes[1].labels().name() + ": to balance 3 classes takes " +
                                         std::to_string(needed) + " bytes, and " + std::to_string(needed - 1) +
                                         " may be used; give more memory, or sample uniformly");
  EXPECT_THAT(ClassRows::count(TargetKind::classes, two.volumes, boxes, 0).error().message,
              testing::HasSubstr("to balance 1 classes"));
}

// A plane of more voxels than a band has.
TEST(TrainBalance, APlaneIsReadInBands) {
  const Scratch scratch;
  const std::string labels = scratch.file("labels.npy");
  const Vec3 n{2, 300, 400};
  std::vector<std::uint8_t> all = test::some_voxels<std::uint8_t>(voxels(n), 3);
  all.back() = 7;
  test::write_volume(labels, n, all);
  VolumeMemory memory;
  std::vector<LabelledVolume> volumes;
  volumes.push_back(LabelledVolume::open({labels, labels, ""}, memory).value());
  const ClassRows rows = count(volumes, {{{}, n}});
  for (const auto& [number, counted] : rows.counts()) EXPECT_EQ(counted, std::count(all.begin(), all.end(), number));
  EXPECT_EQ(rows.counts().size(), 4U);
  EXPECT_LT(rows.memory_bytes(), 4 * 600 * 8 + 65 * (128 << 10));
  std::map<std::uint8_t, int> drawn;
  for (std::uint64_t step = 0; step < 200; ++step) {
    CounterRandom random(1, step, RandomStream::place);
    const Vec3 v = rows.draw(volumes, random).value().voxel;
    ++drawn[all[static_cast<std::size_t>((v.z * n.y + v.y) * n.x + v.x)]];
  }
  EXPECT_NEAR(drawn[7], 50, 25);
}

TEST(TrainBalance, LabelsThatNoFloatHasAreRefused) {
  const Scratch scratch;
  const std::string labels = scratch.file("labels.npy");
  const std::string mask = scratch.file("mask.npy");
  test::write_volume(labels, {1, 1, 3}, std::vector<std::uint64_t>{1, 2, ~std::uint64_t{0}});
  test::write_volume(mask, {1, 1, 3}, std::vector<std::uint8_t>{1, 1, 0});
  const std::vector<Box> boxes = {{{}, {1, 1, 3}}};
  VolumeMemory memory;
  std::vector<LabelledVolume> volumes;
  volumes.push_back(LabelledVolume::open({mask, labels, mask}, memory).value());
  EXPECT_THAT(count(volumes, boxes).counts(), ElementsAre(std::pair(1, 1), std::pair(2, 1)));
  volumes.clear();
  volumes.push_back(LabelledVolume::open({mask, labels, ""}, memory).value());
  const Result<ClassRows> refused = ClassRows::count(TargetKind::classes, volumes, boxes, saturated);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            labels +
                ": voxels 0:1,0:1,0:3: a voxel has label 18446744073709551615; as a class, 16777216 is the "
                "largest: if it means that the voxel is unlabelled, name a mask that is 0 there");
  EXPECT_TRUE(ClassRows::count(TargetKind::boundaries, volumes, boxes, saturated));
}

TEST(TrainBalance, EachClassIsDrawnAsOftenAndEachOfItsVoxels) {
  const TwoVolumes two;
  const ClassRows rows = count(two.volumes, {{{}, {2, 3, 4}}, {{}, {3, 4, 5}}});
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
  std::vector<LabelledVolume> volumes;
  volumes.push_back(LabelledVolume::open({labels, labels, mask}, memory).value());
  EXPECT_THAT(count(volumes, {{{}, {1, 2, 3}}}).counts(), ElementsAre(std::pair(1, 1), std::pair(2, 2)));
}

TEST(TrainBalance, TooManyClassesAreRefused) {
  const Scratch scratch;
  const std::string labels = scratch.file("labels.npy");
  std::vector<std::uint16_t> all;
  for (std::uint16_t label = 0; label < 1025; ++label) all.push_back(label);
  test::write_volume(labels, {1, 1, 1025}, all);
  VolumeMemory memory;
  std::vector<LabelledVolume> volumes;
  volumes.push_back(LabelledVolume::open({labels, labels, ""}, memory).value());
  EXPECT_EQ(count(volumes, {{{}, {1, 1, 1024}}}).counts().size(), 1024U);
  const Result<ClassRows> refused = ClassRows::count(TargetKind::classes, volumes, {{{}, {1, 1, 1025}}}, saturated);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("more than 1024 classes"));
}

}  // namespace
}  // namespace znni
