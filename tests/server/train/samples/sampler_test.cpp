#include "server/train/samples/sampler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/server/train/volumes.hpp"

namespace znni {
namespace {

using client::Scratch;
using testing::Each;
using testing::HasSubstr;

// A volume of which every voxel has another number, and whose labels are those numbers.
class NumberedVolume {
 public:
  explicit NumberedVolume(Vec3 extent) : n(extent) {
    std::vector<std::uint16_t> numbers;
    for (std::int64_t i = 0; i < voxels(n); ++i) numbers.push_back(static_cast<std::uint16_t>(i));
    test::write_volume(raw, n, numbers);
  }

  [[nodiscard]] std::unique_ptr<VolumeSamples> open(const SampleOptions& options) const {
    Result<std::unique_ptr<VolumeSamples>> samples = open_samples({{raw, raw, ""}}, options);
    EXPECT_TRUE(samples) << samples.error().message;
    return samples ? *std::move(samples) : nullptr;
  }

  Vec3 n;
  Scratch scratch;
  std::string raw = scratch.file("raw.npy");
};

SampleOptions options_of(Vec3 patch, Vec3 output) {
  SampleOptions options;
  options.patch = patch;
  options.output = output;
  return options;
}

float at(const std::vector<float>& values, Vec3 n, Vec3 v) {
  return values[static_cast<std::size_t>((v.z * n.y + v.y) * n.x + v.x)];
}

TEST(TrainSampler, TheTargetIsCroppedByHalfTheFieldOfView) {
  const NumberedVolume volume({9, 9, 9});
  for (const std::int64_t fov : {1, 3, 4}) {
    const Vec3 patch = Vec3::cube(6);
    const Vec3 output = Vec3::cube(7 - fov);
    const auto samples = volume.open(options_of(patch, output));
    for (std::uint64_t step = 0; step < 20; ++step) {
      const Result<Sample> sample = samples->sample(step);
      ASSERT_TRUE(sample);
      ASSERT_EQ(sample->target.size(), static_cast<std::size_t>(voxels(output)));
      EXPECT_THAT(sample->weight, Each(1));
      const Vec3 before = Vec3::cube((fov - 1) / 2);
      for (const Vec3 v : {Vec3{}, Vec3{0, 1, 2}, output - Vec3::cube(1)}) {
        EXPECT_EQ(at(sample->target, output, v), at(sample->input, patch, v + before));
      }
    }
  }
}

// What an even field of view sees lies where it lies without symmetries: half a voxel behind the target.
TEST(TrainSampler, TurnedPatchesKeepInputAndTargetTogether) {
  const NumberedVolume volume({9, 9, 9});
  for (const std::int64_t fov : {3, 4}) {
    SampleOptions options = options_of(Vec3::cube(6), Vec3::cube(7 - fov));
    options.augmentation.symmetries = true;
    const auto samples = volume.open(options);
    std::map<float, int> steps_along_x;
    for (std::uint64_t step = 0; step < 200; ++step) {
      const Sample sample = *samples->sample(step);
      for (const Vec3 v : {Vec3{}, Vec3{0, 1, 2}, Vec3{2, 2, 1}}) {
        EXPECT_EQ(at(sample.target, options.output, v), at(sample.input, options.patch, v + Vec3::cube((fov - 1) / 2)));
      }
      ++steps_along_x[sample.input[1] - sample.input[0]];
    }
    EXPECT_EQ(steps_along_x.size(), 6U);  // +-1, +-9, +-81
  }
}

TEST(TrainSampler, ASampleFollowsFromSeedAndStep) {
  const NumberedVolume volume({12, 12, 12});
  SampleOptions options = options_of(Vec3::cube(6), Vec3::cube(4));
  options.augmentation = {true, 0.1, 0.2, 0.1, 0.1};
  const auto samples = volume.open(options);
  const Sample first = *samples->sample(7);
  static_cast<void>(samples->sample(3));
  EXPECT_EQ(samples->sample(7)->input, first.input);
  EXPECT_NE(samples->sample(8)->input, first.input);
  options.keeps_volumes = false;
  const auto from_file = volume.open(options);
  EXPECT_EQ(from_file->sample(7)->input, first.input);
  EXPECT_EQ(from_file->sample(7)->target, first.target);
  EXPECT_EQ(from_file->memory_bytes(), 0);
  EXPECT_EQ(samples->memory_bytes(), 2 * 12 * 12 * 12 * 2);
  options.seed = 2;
  EXPECT_NE(volume.open(options)->sample(7)->input, first.input);
}

TEST(TrainSampler, EveryPatchIsTurnedInEveryWay) {
  const NumberedVolume volume({3, 3, 4});
  SampleOptions options = options_of(Vec3::cube(3), Vec3::cube(1));
  options.augmentation.symmetries = true;
  const auto samples = volume.open(options);
  std::set<std::vector<float>> inputs;
  for (std::uint64_t step = 0; step < 3000; ++step) inputs.insert(samples->sample(step)->input);
  EXPECT_EQ(inputs.size(), 2U * 48U);
}

TEST(TrainSampler, EveryPatchIsAsLikely) {
  const NumberedVolume volume({3, 3, 4});
  const auto samples = volume.open(options_of({2, 3, 2}, {1, 1, 1}));
  std::map<float, int> firsts;
  for (std::uint64_t step = 0; step < 6000; ++step) ++firsts[samples->sample(step)->input.front()];
  ASSERT_EQ(firsts.size(), 6U);
  for (const auto& [voxel, count] : firsts) EXPECT_NEAR(count, 1000, 150) << voxel;
}

TEST(TrainSampler, SeveralVolumesAreDrawnByTheirPatches) {
  const NumberedVolume small({4, 4, 4});
  const Scratch scratch;
  const std::string large = scratch.file("large.npy");
  test::write_volume(large, {4, 4, 7}, std::vector<std::uint16_t>(112, 1000));
  const Result<std::unique_ptr<VolumeSamples>> samples =
      open_samples({{small.raw, small.raw, ""}, {large, large, ""}}, options_of(Vec3::cube(4), Vec3::cube(1)));
  ASSERT_TRUE(samples);
  int from_large = 0;
  for (std::uint64_t step = 0; step < 1000; ++step) from_large += (*samples)->sample(step)->input[0] == 1000 ? 1 : 0;
  EXPECT_NEAR(from_large, 800, 50);
}

TEST(TrainSampler, ABalancedOutputHasTheClassInItsMiddle) {
  const Scratch scratch;
  const std::string raw = scratch.file("raw.npy");
  const Vec3 n = Vec3::cube(12);
  std::vector<std::uint8_t> labels(static_cast<std::size_t>(voxels(n)), 1);
  labels[6 * 144 + 5 * 12 + 7] = 2;
  test::write_volume(raw, n, labels);
  SampleOptions options = options_of(Vec3::cube(6), Vec3::cube(3));
  options.sampling = Sampling::balanced;
  for (const bool symmetries : {false, true}) {
    options.augmentation.symmetries = symmetries;
    const Result<std::unique_ptr<VolumeSamples>> samples = open_samples({{raw, raw, ""}}, options);
    ASSERT_TRUE(samples) << samples.error().message;
    int rare = 0;
    for (std::uint64_t step = 0; step < 400; ++step) rare += (*samples)->sample(step)->target[13] == 2 ? 1 : 0;
    EXPECT_NEAR(rare, 200, 40);
  }
}

TEST(TrainSampler, BoundariesAndAffinitiesAreThoseOfTheWholeVolume) {
  const NumberedVolume volume({6, 6, 6});
  SampleOptions options = options_of(Vec3::cube(4), Vec3::cube(4));
  options.targets = TargetKind::affinities;
  const Sample sample = *volume.open(options)->sample(1);
  EXPECT_EQ(sample.target.size(), 3U * 64U);
  EXPECT_THAT(sample.target, Each(0));
  options.targets = TargetKind::boundaries;
  EXPECT_THAT(volume.open(options)->sample(1)->target, Each(1));
}

TEST(TrainSampler, TheInputIsScaledAndMasksAreWeights) {
  const Scratch scratch;
  const std::string raw = scratch.file("raw.npy");
  const std::string mask = scratch.file("mask.npy");
  test::write_volume(raw, {1, 1, 4}, std::vector<std::uint8_t>{10, 20, 30, 40});
  test::write_volume(mask, {1, 1, 4}, std::vector<std::uint8_t>{1, 1, 0, 1});
  SampleOptions options = options_of({1, 1, 4}, {1, 1, 2});
  options.input_scale = 0.5F;
  options.input_offset = -1;
  const Result<std::unique_ptr<VolumeSamples>> samples = open_samples({{raw, raw, mask}}, options);
  ASSERT_TRUE(samples);
  const Sample sample = *(*samples)->sample(0);
  EXPECT_EQ(sample.input, (std::vector<float>{4, 9, 14, 19}));
  EXPECT_EQ(sample.target, (std::vector<float>{20, 0}));
  EXPECT_EQ(sample.weight, (std::vector<float>{1, 0}));
}

// The labels are the numbers of the voxels: those of sparse samples are those of dense ones at every other voxel.
TEST(TrainSampler, SparseTargetsAreEveryOtherOne) {
  const NumberedVolume volume({12, 12, 12});
  SampleOptions options = options_of(Vec3::cube(8), Vec3::cube(5));
  options.augmentation.symmetries = true;
  const auto dense = volume.open(options);
  options.stride = Vec3::cube(2);
  const auto sparse = volume.open(options);
  for (std::uint64_t step = 0; step < 20; ++step) {
    const Sample all = *dense->sample(step);
    const Sample part = *sparse->sample(step);
    EXPECT_EQ(part.input, all.input);
    ASSERT_EQ(part.weight.size(), 27U);
    for (std::int64_t i = 0; i < 27; ++i) {
      const Vec3 v{i / 9, i / 3 % 3, i % 3};
      EXPECT_EQ(at(part.target, Vec3::cube(3), v), at(all.target, Vec3::cube(5), v * Vec3::cube(2)));
    }
  }
}

// A weight is turned with its voxel, and a patch whose voxels have none is drawn again.
TEST(TrainSampler, WeightsGoWithTheirVoxels) {
  const Scratch scratch;
  const std::string raw = scratch.file("raw.npy");
  const std::string weights = scratch.file("weights.npy");
  std::vector<std::uint8_t> labels(1000);
  std::vector<float> all(1000);
  for (std::size_t i = 500; i < 520; ++i) {
    labels[i] = static_cast<std::uint8_t>(i - 500);
    all[i] = 0.5F * static_cast<float>(labels[i]);
  }
  test::write_volume(raw, {1, 1, 1000}, labels);
  test::write_volume(weights, {1, 1, 1000}, all);
  SampleOptions options = options_of({1, 1, 12}, {1, 1, 10});
  options.augmentation.symmetries = true;
  const Result<std::unique_ptr<VolumeSamples>> samples = open_samples({{raw, raw, "", weights}}, options);
  ASSERT_TRUE(samples) << samples.error().message;
  std::set<bool> directions;
  for (std::uint64_t step = 0; step < 50; ++step) {
    const Sample sample = *(*samples)->sample(step);
    EXPECT_THAT(sample.weight, testing::Contains(testing::Gt(0)));
    for (std::size_t i = 0; i < sample.weight.size(); ++i) EXPECT_EQ(sample.weight[i], 0.5F * sample.target[i]);
    directions.insert(sample.target.front() < sample.target.back());
  }
  EXPECT_EQ(directions.size(), 2U);
}

// A volume of 1 x 1 x 1000 voxels, labelled at one place.
class SparseVolume {
 public:
  explicit SparseVolume(std::size_t labelled) {
    std::vector<std::uint8_t> known(1000, 0);
    if (labelled < known.size()) known[labelled] = 1;
    test::write_volume(raw, {1, 1, 1000}, std::vector<std::uint8_t>(1000, 1));
    test::write_volume(mask, {1, 1, 1000}, known);
  }

  [[nodiscard]] std::unique_ptr<VolumeSamples> open() const {
    Result<std::unique_ptr<VolumeSamples>> samples =
        open_samples({{raw, raw, mask}}, options_of({1, 1, 12}, {1, 1, 10}));
    EXPECT_TRUE(samples) << samples.error().message;
    return samples ? *std::move(samples) : nullptr;
  }

  Scratch scratch;
  std::string raw = scratch.file("raw.npy");
  std::string mask = scratch.file("mask.npy");
};

TEST(TrainSampler, APatchWithoutALabelledVoxelIsDrawnAgain) {
  const SparseVolume volume(500);
  const auto samples = volume.open();
  std::set<std::ptrdiff_t> places;
  for (std::uint64_t step = 0; step < 100; ++step) {
    const Result<Sample> sample = samples->sample(step);
    ASSERT_TRUE(sample) << sample.error().message;
    EXPECT_EQ(std::count(sample->weight.begin(), sample->weight.end(), 1), 1);
    places.insert(std::find(sample->weight.begin(), sample->weight.end(), 1) - sample->weight.begin());
    EXPECT_EQ(samples->sample(step)->weight, sample->weight);
  }
  EXPECT_EQ(places.size(), 10U);
}

TEST(TrainSampler, AVolumeWithoutALabelledVoxelIsRefused) {
  const SparseVolume volume(1000);
  const Result<Sample> refused = volume.open()->sample(3);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            volume.raw +
                ": 1000 patches were drawn, and the output of none has a labelled voxel; label or unmask more "
                "voxels, or cut the volumes around those that are labelled");
}

TEST(TrainSampler, LabelsThatNoFloatHasAreRefused) {
  const Scratch scratch;
  const std::string raw = scratch.file("raw.npy");
  const std::string labels = scratch.file("labels.npy");
  test::write_volume(raw, {1, 1, 2}, std::vector<std::uint8_t>{1, 2});
  test::write_volume(labels, {1, 1, 2}, std::vector<std::uint32_t>{1U << 24, (1U << 24) + 1});
  SampleOptions options = options_of({1, 1, 2}, {1, 1, 2});
  const Result<std::unique_ptr<VolumeSamples>> refused = open_samples({{raw, labels, ""}}, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            labels +
                ": the voxel at z, y, x of 0, 0, 1 has label 16777217; as a class 0 to 16777216 is right: if it means "
                "that the voxel is unlabelled, name a mask that is 0 there");
  options.targets = TargetKind::boundaries;
  EXPECT_TRUE(open_samples({{raw, labels, ""}}, options)) << "of boundaries any number is a label";
}

// A single voxel far from the first has a class too many.
TEST(TrainSampler, AClassTooManyIsFoundAtTheStart) {
  const Scratch scratch;
  const std::string raw = scratch.file("raw.npy");
  const std::string mask = scratch.file("mask.npy");
  const Vec3 n = {3, 600, 500};
  std::vector<std::uint8_t> labels(static_cast<std::size_t>(voxels(n)), 2);
  const std::size_t wrong = (2 * 600 + 571) * 500 + 14;
  labels[wrong] = 3;
  test::write_volume(raw, n, labels);
  SampleOptions options = options_of({1, 9, 9}, {1, 9, 9});
  options.largest_class = 2;
  const Result<std::unique_ptr<VolumeSamples>> refused = open_samples({{raw, raw, ""}}, options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr(raw + ": the voxel at z, y, x of 2, 571, 14 has label 3; as a class 0 to 2 is right"));
  std::vector<std::uint8_t> known(labels.size(), 1);
  known[wrong] = 0;
  test::write_volume(mask, n, known);
  EXPECT_TRUE(open_samples({{raw, raw, mask}}, options)) << "it is unlabelled";
}

// Class 0 has no weight: only patches with the voxel of class 1 count.
TEST(TrainSampler, PatchesOfAClassWithoutWeightAreDrawnAgain) {
  const Scratch scratch;
  const std::string raw = scratch.file("raw.npy");
  std::vector<std::uint8_t> labels(1000, 0);
  labels[555] = 1;
  test::write_volume(raw, Vec3::cube(10), labels);
  SampleOptions options = options_of(Vec3::cube(4), Vec3::cube(4));
  options.class_weights = {0, 1};
  const auto samples = open_samples({{raw, raw, ""}}, options);
  ASSERT_TRUE(samples) << samples.error().message;
  for (std::uint64_t step = 0; step < 30; ++step) {
    EXPECT_THAT((*samples)->sample(step)->target, testing::Contains(1));
  }
  options.class_weights = {1, 0};
  const auto weighted = open_samples({{raw, raw, ""}}, options);
  options.class_weights = {};
  const auto plain = open_samples({{raw, raw, ""}}, options);
  EXPECT_EQ((*weighted)->sample(1)->input, (*plain)->sample(1)->input) << "a patch that counts is not drawn again";
  options.class_weights = {0, 1};
  test::write_volume(raw, Vec3::cube(10), std::vector<std::uint8_t>(1000, 0));
  const Result<Sample> refused = open_samples({{raw, raw, ""}}, options).value()->sample(0);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("has a labelled voxel of a class whose class_weight is not 0; label"));
}

TEST(TrainSampler, ASampleSaysWhereItsLabelsWereRead) {
  const NumberedVolume volume({4, 5, 6});
  const auto samples = volume.open(options_of({4, 5, 6}, {2, 3, 4}));
  EXPECT_EQ(samples->sample(0)->labels,
            volume.raw + ": voxels " + client::to_string(client::Box{{1, 1, 1}, {3, 4, 5}}));
}

TEST(TrainSampler, WrongOptionsAreRefusedInWords) {
  const NumberedVolume volume({6, 6, 6});
  const auto refusal = [&](const SampleOptions& options) {
    const auto samples = open_samples({{volume.raw, volume.raw, ""}}, options);
    return samples ? "" : samples.error().message;
  };
  EXPECT_EQ(refusal(options_of({7, 6, 6}, Vec3::cube(1))),
            volume.raw + ": has an extent of 6x6x6, smaller than a patch of 7x6x6; take a smaller patch");
  EXPECT_THAT(refusal(options_of(Vec3::cube(3), Vec3::cube(4))), HasSubstr("a patch of 3x3x3"));
  SampleOptions options = options_of(Vec3::cube(3), Vec3::cube(1));
  options.f_in = 2;
  EXPECT_THAT(refusal(options), HasSubstr("has 1 channels; the network reads 2"));
  options.f_in = 1;
  options.max_bytes = 2 * 216 * 2 - 1;
  EXPECT_THAT(refusal(options), HasSubstr("read patches from the files"));
  EXPECT_THAT(open_samples({}, options).error().message, HasSubstr("no volume"));
  options.max_bytes = saturated;
  options.sampling = Sampling::balanced;
  EXPECT_EQ(refusal(options), "");
  options.max_bytes = 2 * 216 * 2 + 100;
  EXPECT_THAT(refusal(options), HasSubstr("sample uniformly"));
}

}  // namespace
}  // namespace znni
