#include "server/train/preparation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/train/setup.hpp"
#include "tests/server/train/volumes.hpp"

namespace znni::train {
namespace {

using testing::HasSubstr;

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

Convolution conv_of(std::int64_t f_out, std::int64_t k) {
  Convolution conv;
  conv.f_out = f_out;
  conv.k = Vec3::cube(k);
  return conv;
}

// A training of one volume that takes 2 MB in memory, 1 MB of them labels.
class TrainPreparation : public testing::Test {
 protected:
  TrainPreparation() {
    const Vec3 n{64, 128, 128};
    test::write_volume(raw_, n, test::some_voxels<std::uint8_t>(voxels(n), 200));
    test::write_volume(labels_, n, test::some_voxels<std::uint8_t>(voxels(n), 2));
    inputs_.config.patch = Vec3::cube(25);
    inputs_.config.volumes = {{raw_, labels_, ""}};
    inputs_.config.loss.kind = LossKind::binary_cross_entropy;
    inputs_.threads = 2;
    Network& network = inputs_.trained.loaded.network;
    network.nodes = {{"conv1", conv_of(16, 3), {0}},
                     {"pool", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(2)}, {1}},
                     {"conv2", conv_of(16, 5), {2}},
                     {"conv3", conv_of(1, 1), {3}}};
    set_shapes();
  }

  void set_shapes() {
    const Network& network = inputs_.trained.loaded.network;
    inputs_.input = {1, 1, inputs_.config.patch};
    inputs_.output = {1, 1, output_of_patch(network, inputs_.config.patch).value()};
    inputs_.stride = compared_stride(network, inputs_.config).value();
    inputs_.loss = Loss::make(inputs_.config.loss, Probability::sigmoid, 1).value();
  }

  Result<Prepared> prepare_within(std::int64_t bytes) {
    inputs_.memory = bytes;
    return prepare(inputs_);
  }

  client::Scratch scratch_;
  std::string raw_ = scratch_.file("raw.npy");
  std::string labels_ = scratch_.file("labels.npy");
  Inputs inputs_;
};

TEST_F(TrainPreparation, MoreMemoryNeverPredictsASlowerStep) {
  Seconds before = 1e9;
  bool keeps = false;
  bool reads = false;
  for (std::int64_t half = 132; half < 260; half += 4) {
    const Result<Prepared> prepared = prepare_within(half * mebibyte / 2);
    if (!prepared) {
      EXPECT_EQ(prepared.error().code, ErrorCode::over_budget) << prepared.error().message;
      EXPECT_EQ(before, 1e9) << "refused after less memory sufficed";
      continue;
    }
    EXPECT_LE(prepared->plan.seconds, before) << half;
    before = prepared->plan.seconds;
    (prepared->samples->memory_bytes() > 0 ? keeps : reads) = true;
  }
  EXPECT_TRUE(keeps);
  EXPECT_TRUE(reads);
}

TEST_F(TrainPreparation, SparseSamplesHaveTheVoxelsThatTheStepWrites) {
  inputs_.config.patch = Vec3::cube(24);
  inputs_.config.is_sparse = true;
  set_shapes();
  const Result<Prepared> prepared = prepare_within(512 * mebibyte);
  ASSERT_TRUE(prepared) << prepared.error().message;
  EXPECT_EQ(inputs_.stride, Vec3::cube(2));
  const Result<Sample> sample = prepared->samples->sample(0);
  ASSERT_TRUE(sample);
  EXPECT_EQ(std::ssize(sample->weight), voxels(prepared->plan.output.n));
  EXPECT_EQ(prepared->plan.output.n, strided(inputs_.output.n, inputs_.stride));
}

TEST_F(TrainPreparation, IsDescribedCallByCallWithItsMemory) {
  const Result<Prepared> prepared = prepare_within(512 * mebibyte);
  ASSERT_TRUE(prepared) << prepared.error().message;
  const std::vector<std::string> lines = describe(inputs_, *prepared);
  EXPECT_THAT(lines[lines.size() - 2], testing::StartsWith("step: "));
  EXPECT_THAT(lines.back(), HasSubstr("volumes 2.00 MiB"));
}

TEST_F(TrainPreparation, TooLittleMemoryIsRefusedWithBothNumbers) {
  const Result<Prepared> refused = prepare_within(1 * mebibyte);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::over_budget);
  EXPECT_THAT(refused.error().message, HasSubstr("--mem is 1.00 MiB, and a training takes "));
}

}  // namespace
}  // namespace znni::train
