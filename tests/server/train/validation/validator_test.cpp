#include "server/train/validation/validator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/padding.hpp"
#include "primitives/cpu/backend.hpp"
#include "tests/server/train/volumes.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

// Returns a net that writes a single voxel of what it reads, twice as large: the one in the middle of 3x3x3.
Network middle_network() {
  Network network;
  network.name = "middle";
  Convolution conv;
  conv.f_out = 1;
  conv.k = Vec3::cube(3);
  network.nodes = {{"conv", conv, {0}}};
  return network;
}

NetworkWeights middle_weights(float factor) {
  NetworkWeights weights(1);
  weights[0].kernels.assign(27, 0);
  weights[0].kernels[13] = factor;
  weights[0].bias.assign(1, 0);
  return weights;
}

class ValidatorTest : public testing::Test {
 protected:
  ValidatorTest() : network_(middle_network()), weights_(middle_weights(1)) {}

  // Writes a volume of labels 0 and 1 whose input has `inputs[label]`.
  template <class Voxel>
  VolumeNames write(const std::string& name, Vec3 n, const std::vector<Voxel>& inputs) {
    const auto labels = test::some_voxels<std::uint8_t>(voxels(n), inputs.size());
    std::vector<Voxel> raw;
    for (const std::uint8_t label : labels) raw.push_back(inputs[label]);
    const VolumeNames names = {scratch_.file(name + "-raw.npy"), scratch_.file(name + "-labels.npy"), ""};
    test::write_volume(names.input, n, raw);
    test::write_volume(names.labels, n, labels);
    return names;
  }

  Result<std::unique_ptr<Validator>> make(const std::vector<VolumeNames>& names, std::int64_t bytes = 64 * mebibyte) {
    VolumeMemory memory{keeps_, saturated, 0};
    const ValidationParts parts = {network_, weights_, loss_, cpu::backend(), cpu::describe_cpu(2), targets_, 2, -1};
    return Validator::make(parts, open_volumes(names, 1, memory).value(), bytes);
  }
  Result<std::optional<ValidationScore>> run(const std::vector<VolumeNames>& names) {
    const auto made = make(names);
    return made ? (*made)->run({}) : made.error();
  }

  client::Scratch scratch_;
  Network network_;
  NetworkWeights weights_;
  Loss loss_ = Loss::make({LossKind::square, {}}, Probability::none, 1).value();
  TargetKind targets_ = TargetKind::classes;
  bool keeps_ = true;
};

// Of label 0 the network sees 2 x 1 - 1 = 1, of label 1 it sees 2 x 3 - 1 = 5.
TEST_F(ValidatorTest, EveryVoxelOfTheOutputIsComparedWithItsOwn) {
  for (const bool keeps : {true, false}) {
    keeps_ = keeps;
    for (const Vec3 n : {Vec3{3, 3, 3}, Vec3{9, 20, 7}, Vec3{40, 5, 30}}) {
      const VolumeNames names = write<std::uint16_t>("v" + std::to_string(n.z), n, {1, 3});
      const auto score = run({names});
      ASSERT_TRUE(score) << score.error().message;
      std::int64_t ones = 0;
      const auto labels = test::some_voxels<std::uint8_t>(voxels(n), 2);
      const Vec3 inner = n - Vec3::cube(2);
      for (std::int64_t i = 0; i < voxels(inner); ++i) {
        const Vec3 v = Vec3{i / inner.x / inner.y, i / inner.x % inner.y, i % inner.x} + Vec3::cube(1);
        ones += labels[static_cast<std::size_t>((v.z * n.y + v.y) * n.x + v.x)];
      }
      const double share = static_cast<double>(ones) / static_cast<double>(voxels(inner));
      EXPECT_NEAR((*score)->loss, share * 16 + (1 - share) * 1, 1e-5) << to_string(n);
    }
  }
}

// A network that pads has an output voxel for each of the volume.
TEST_F(ValidatorTest, PaddedVolumesAreComparedAsAWhole) {
  const Border one{Vec3::cube(1), Vec3::cube(1)};
  network_ = without_padding({middle_network(), {}}, {one}).value().network;
  const Vec3 n{2, 7, 5};
  const auto score = run({write<std::uint16_t>("padded", n, {1, 3})});
  ASSERT_TRUE(score) << score.error().message;
  double sum = 0;
  for (const std::uint8_t label : test::some_voxels<std::uint8_t>(voxels(n), 2)) sum += label == 1 ? 16 : 1;
  EXPECT_NEAR((*score)->loss, sum / static_cast<double>(voxels(n)), 1e-5);
}

// Zeros beside the smaller volume make 0 / 0, which must stay there. The network writes 1 everywhere.
TEST_F(ValidatorTest, QuotientsBesideTheVolumeReachNoVoxel) {
  const Convolution first{16, Vec3::cube(1), Vec3::cube(1), {}};
  const Convolution wide{16, Vec3::cube(7), Vec3::cube(1), {}};
  const Convolution last{1, Vec3::cube(1), Vec3::cube(1), {}};
  network_.nodes = {{"first", first, {0}}, {"quotient", Divide{}, {1, 1}}, {"wide", wide, {2}}, {"last", last, {3}}};
  weights_ = NetworkWeights(4);
  weights_[0] = {std::vector<float>(16, 1), std::vector<float>(16, 0), {}, {}};
  weights_[2] = {std::vector<float>(16 * 16 * 343, 1.0F / (16 * 343)), std::vector<float>(16, 0), {}, {}};
  weights_[3] = {std::vector<float>(16, 1.0F / 16), {0}, {}, {}};
  const auto score = run({write<float>("large", {50, 50, 50}, {1}), write<float>("small", {47, 43, 45}, {3}),
                          write<float>("less", {30, 29, 31}, {3})});
  ASSERT_TRUE(score) << score.error().message;
  EXPECT_NEAR((*score)->loss, 1, 1e-3);
}

TEST_F(ValidatorTest, SeveralVolumesAreScoredTogether) {
  const VolumeNames zeros = write<float>("zeros", {5, 5, 5}, {1});
  const VolumeNames other = write<float>("other", {3, 3, 4}, {2});
  const auto score = run({zeros, other});
  ASSERT_TRUE(score) << score.error().message;
  EXPECT_NEAR((*score)->loss, (27 * 1 + 2 * 9) / 29.0, 1e-5);
}

TEST_F(ValidatorTest, TheWeightsAreThoseOfTheMoment) {
  const VolumeNames names = write<float>("one", {6, 6, 6}, {1});
  const auto made = make({names});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_NEAR((*made)->run({}).value()->loss, 1, 1e-6);
  weights_ = middle_weights(3);
  EXPECT_NEAR((*made)->run({}).value()->loss, 9, 1e-5);
}

TEST_F(ValidatorTest, BoundariesAreMeasuredByPrecisionAndRecall) {
  targets_ = TargetKind::boundaries;
  const VolumeNames names = write<float>("pairs", {8, 8, 8}, {1, 3});
  const auto score = run({names});
  ASSERT_TRUE(score) << score.error().message;
  ASSERT_TRUE((*score)->precision_recall);
  EXPECT_GT((*score)->precision_recall->average_precision, 0.5);
}

TEST_F(ValidatorTest, AStoppedOneHasNoScore) {
  const auto made = make({write<float>("one", {6, 6, 6}, {1})});
  ASSERT_TRUE(made) << made.error().message;
  std::stop_source stop;
  stop.request_stop();
  const auto score = (*made)->run(stop.get_token());
  ASSERT_TRUE(score) << score.error().message;
  EXPECT_FALSE(*score);
}

TEST_F(ValidatorTest, StaysWithinItsBytes) {
  const VolumeNames names = write<float>("one", {30, 60, 60}, {1});
  for (const std::int64_t bytes : {16 * mebibyte, 64 * mebibyte}) {
    const auto made = make({names}, bytes);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_LE((*made)->memory().total(), bytes);
    EXPECT_GT((*made)->memory().engine, 0);
    EXPECT_TRUE((*made)->run({}));
  }
  const auto little = make({names}, 2 * mebibyte);
  ASSERT_FALSE(little);
  EXPECT_EQ(little.error().code, ErrorCode::over_budget);
  EXPECT_THAT(little.error().message, HasSubstr("validation: "));
}

// One plane of the output takes 5.5 MiB, more than the quarter of 16 MiB that volumes and outputs have.
TEST_F(ValidatorTest, PlanesThatDoNotFitAreRefused) {
  const VolumeNames names = write<std::uint8_t>("wide", {3, 1200, 1200}, {1, 3});
  const auto refused = make({names}, 16 * mebibyte);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::over_budget);
  EXPECT_THAT(refused.error().message, StartsWith("validation: " + names.input + ": a validation holds "));
  EXPECT_THAT(refused.error().message, HasSubstr(" of --mem for them; give it more, or a volume of smaller planes"));
  const auto made = make({names}, 64 * mebibyte);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE((*made)->run({}));
}

// In a file of 64-bit floats a plane takes 1 MiB, of which a copy is there while it is read: a quarter of 4 MiB more.
TEST_F(ValidatorTest, PlanesCountAsTheyAreInTheFile) {
  keeps_ = false;
  const VolumeNames narrow = write<float>("narrow", {3, 256, 512}, {1, 3});
  const VolumeNames wide = write<double>("wide", {3, 256, 512}, {1, 3});
  std::int64_t bytes = 8 * mebibyte;
  while (bytes < 50 * mebibyte && !make({narrow}, bytes)) bytes += 2 * mebibyte;
  ASSERT_LT(bytes, 50 * mebibyte);
  EXPECT_TRUE(make({wide}, bytes + 5 * mebibyte));
  const auto refused = make({wide}, bytes);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::over_budget);
  EXPECT_THAT(refused.error().message, StartsWith("validation: " + wide.input + ": a validation holds "));
}

TEST_F(ValidatorTest, ErrorsNameTheFile) {
  const VolumeNames small = write<float>("small", {2, 9, 9}, {1});
  const auto refused = make({small});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, small.input +
                                         ": has an extent of 2x9x9, smaller than the field of view, 3x3x3; "
                                         "take a larger volume");
  const VolumeNames infinite = write<float>("infinite", {4, 4, 4}, {1e38F});
  weights_ = middle_weights(1e30F);
  const auto score = run({infinite});
  ASSERT_FALSE(score);
  EXPECT_THAT(score.error().message, HasSubstr("the network writes NaN or infinite numbers there"));
  EXPECT_THAT(score.error().message, HasSubstr(infinite.labels + ": voxels 1:2,"));
}

TEST_F(ValidatorTest, AVolumeWithoutLabelsHasNoScore) {
  VolumeNames names = write<float>("one", {6, 6, 6}, {1});
  names.mask = scratch_.file("mask.npy");
  test::write_volume(names.mask, {6, 6, 6}, std::vector<std::uint8_t>(216, 0));
  const auto score = run({names});
  ASSERT_FALSE(score);
  EXPECT_THAT(score.error().message, HasSubstr("no voxel of an output is labelled in the validation volumes"));
}

}  // namespace
}  // namespace znni
