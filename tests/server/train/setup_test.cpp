#include "server/train/setup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/padding.hpp"
#include "tests/server/train/volumes.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

Network two_layers() {
  Network network;
  Convolution conv;
  conv.f_out = 2;
  conv.k = Vec3::cube(3);
  network.nodes = {{"conv", conv, {0}}, {"pool", Pooling{}, {1}}, {"last", conv, {2}}};
  return network;
}

TEST(TrainSetup, MemoryIsThatOfStateCopiesAndSamples) {
  const TrainingMemory adam =
      training_memory({.kind = OptimizerKind::adam}, 1000, {1, 2, {3, 4, 5}}, {1, 3, {1, 1, 1}});
  EXPECT_EQ(adam.optimizer, 2000);
  EXPECT_EQ(adam.copies, 6000);
  EXPECT_EQ(adam.samples, 120 * 12 + 27 * 34 + 3 * 8 + (120 + 3 + 1) * 4) << "one is made, the other used";
  EXPECT_EQ(adam.total(), adam.process + 2000 + 6000 + adam.samples);
  const TrainingMemory flat = training_memory({}, 1000, {1, 2, {1, 40, 50}}, {1, 3, {1, 1, 1}});
  EXPECT_EQ(flat.samples, 4000 * (4 + 4 + 8) + 27 * 34 + 3 * 8 + (4000 + 3 + 1) * 4) << "a plane as it is in a file";
  const TrainingMemory sgd = training_memory({.kind = OptimizerKind::sgd}, 1000, {1, 1, {1, 1, 1}}, {1, 1, {1, 1, 1}});
  EXPECT_EQ(sgd.optimizer, 0);
  EXPECT_EQ(sgd.copies, 4000);
}

TEST(TrainSetup, OutputsAreSmallerThanPatchesByTheFieldOfView) {
  const Result<Vec3> output = output_of_patch(two_layers(), {20, 21, 22});
  ASSERT_TRUE(output) << output.error().message;
  EXPECT_EQ(*output, (Vec3{13, 14, 15}));
  const Result<Vec3> small = output_of_patch(two_layers(), {7, 21, 22});
  ASSERT_FALSE(small);
  EXPECT_EQ(small.error().message, "patch is 7x21x22, smaller than the field of view, 8x8x8; make it larger");
  Network strided = two_layers();
  std::get<Pooling>(strided.nodes[1].operation).strided = true;
  EXPECT_FALSE(output_of_patch(strided, {20, 20, 20}));
}

TEST(TrainSetup, OutputsOfNetworksThatPadAreAsLargeAsPatches) {
  Network network;
  Convolution conv;
  conv.k = Vec3::cube(3);
  network.nodes = {{"top", conv, {0}}, {"pool", Pooling{}, {1}}, {"up", Upsample{}, {2}}, {"sum", Add{}, {1, 3}}};
  const Border one{Vec3::cube(1), Vec3::cube(1)};
  const Network padded = without_padding({network, {}}, {one, {}, {}, {}}).value().network;
  const Result<Vec3> output = output_of_patch(padded, {4, 6, 8});
  ASSERT_TRUE(output) << output.error().message;
  EXPECT_EQ(*output, (Vec3{4, 6, 8}));
}

TEST(TrainSetup, SparseStepsCompareOneVoxelForEachStride) {
  TrainConfig config;
  EXPECT_EQ(compared_stride(two_layers(), config).value(), Vec3::cube(1));
  config.is_sparse = true;
  EXPECT_EQ(compared_stride(two_layers(), config).value(), Vec3::cube(2));
  Network none = two_layers();
  none.name = "none";
  none.nodes = {none.nodes.front()};
  EXPECT_EQ(compared_stride(none, config).error().message,
            "network none has an output for each voxel, and no pooling whose offsets could be left out; leave out "
            "sparse");
}

TEST(TrainSetup, SamplesFollowTheConfiguration) {
  TrainConfig config;
  config.seed = 5;
  config.patch = {6, 7, 8};
  config.input_scale = 0.5;
  config.input_offset = -2;
  config.targets = TrainTargets::boundaries;
  config.sampling = TrainSampling::balanced;
  config.loss.class_weights = {1, 2};
  config.augmentation = {true, 0.1, 0.2, 0.3, 0.4};
  const SampleOptions options = sample_options(config, 2, {3, 4, 5});
  EXPECT_EQ(options.seed, 5);
  EXPECT_EQ(options.f_in, 2);
  EXPECT_EQ(options.patch, config.patch);
  EXPECT_EQ(options.output, (Vec3{3, 4, 5}));
  EXPECT_EQ(options.input_scale, 0.5F);
  EXPECT_EQ(options.input_offset, -2);
  EXPECT_EQ(options.targets, TargetKind::boundaries);
  EXPECT_EQ(options.class_weights, config.loss.class_weights);
  EXPECT_EQ(options.sampling, Sampling::balanced);
  EXPECT_TRUE(options.augmentation.symmetries);
  EXPECT_EQ(options.augmentation.blurred_planes, 0.4);
}

// 1000 voxels of 2 bytes, twice.
TEST(TrainSetup, VolumesAreKeptIfThereIsRoom) {
  const client::Scratch scratch;
  const std::string raw = scratch.file("raw.npy");
  test::write_volume(raw, Vec3::cube(10), std::vector<std::uint16_t>(1000, 1));
  SampleOptions options;
  options.patch = Vec3::cube(6);
  options.output = Vec3::cube(4);
  const std::vector<TrainVolume> volumes = {{raw, raw, ""}};
  const Result<std::unique_ptr<VolumeSamples>> kept = open_within(volumes, options, 4000);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ((*kept)->memory_bytes(), 4000);
  const Result<std::unique_ptr<VolumeSamples>> read = open_within(volumes, options, 3999);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ((*read)->memory_bytes(), 0);
  EXPECT_EQ((*read)->sample(3)->input, (*kept)->sample(3)->input);
  EXPECT_FALSE(open_within({{raw, "none.npy", ""}}, options, 4000));
}

TEST(TrainSetup, TargetsHaveTheChannelsOfTheNetwork) {
  const Loss one = *Loss::make({LossKind::binary_cross_entropy, {}}, Probability::sigmoid, 1);
  const Loss three = *Loss::make({LossKind::dice, {}}, Probability::sigmoid, 3);
  const Loss classes = *Loss::make({LossKind::softmax_cross_entropy, {}}, Probability::softmax, 3);
  EXPECT_TRUE(check_target_channels(TrainTargets::boundaries, one, 1));
  EXPECT_TRUE(check_target_channels(TrainTargets::affinities, three, 3));
  EXPECT_TRUE(check_target_channels(TrainTargets::labels, classes, 3));
  const Result<void> many = check_target_channels(TrainTargets::labels, three, 3);
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().message,
            "the network writes 3 channels, and the targets have 1; one with 1 is right, or the loss "
            "softmax_cross_entropy for classes");
  const Result<void> few = check_target_channels(TrainTargets::affinities, one, 1);
  ASSERT_FALSE(few);
  EXPECT_THAT(few.error().message, HasSubstr("one with 3 output channels is right for affinities"));
}

TEST(TrainSetup, FingerprintsTellTrainingsApart) {
  TrainConfig config;
  config.text = "steps: 1";
  TrainedNetwork trained;
  trained.served = two_layers();
  trained.loaded = {two_layers(), random_weights(two_layers(), 1)};
  const std::string own = training_fingerprint(trained, config);
  EXPECT_EQ(training_fingerprint(trained, config), own);
  TrainedNetwork other = trained;
  other.loaded.weights[2].bias[0] += 1;
  EXPECT_NE(training_fingerprint(other, config), own);
  other = trained;
  std::get<Convolution>(other.served.nodes[2].operation).activation.kind = ActivationKind::sigmoid;
  EXPECT_NE(training_fingerprint(other, config), own);
  config.text = "steps: 2";
  EXPECT_NE(training_fingerprint(trained, config), own);
}

}  // namespace
}  // namespace znni
