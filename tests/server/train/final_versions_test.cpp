#include "server/train/final_versions.hpp"

#include <gtest/gtest.h>

#include "server/train/output_folder.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

// A training of 30 steps, which wrote checkpoints into a folder; its best validation was behind step 20.
class FinalVersionsTest : public testing::Test {
 protected:
  FinalVersionsTest() {
    Network network;
    Convolution conv;
    conv.f_out = 2;
    conv.k = Vec3::cube(3);
    network.nodes.push_back({"conv", conv, {0}});
    trained_.probability = Probability::none;
    trained_.loaded = {network, random_weights(network, 1)};
    trained_.served = network;
    keep_best(random_weights(network, 2));
  }

  void keep_best(NetworkWeights weights) {
    folder_.write("net/any", "");
    Checkpoint best{"0123", 20, "", std::move(weights), {}, {}, 0.5};
    EXPECT_TRUE(write_checkpoint(best_file(model()), best));
  }

  [[nodiscard]] std::filesystem::path model() const { return folder_.path() / "net"; }

  [[nodiscard]] FinalVersions write(bool keeps_best, bool did_steps) const {
    const Result<FinalVersions> versions =
        write_final_versions({trained_, model(), {}, "0123", 30, keeps_best, did_steps});
    EXPECT_TRUE(versions) << (versions ? "" : versions.error().message);
    return versions ? *versions : FinalVersions();
  }

  // Returns whether the newest version has the weights of the last step.
  [[nodiscard]] bool is_last_newest() const { return newest_version_if(trained_.loaded, model()).has_value(); }

  test::TemporaryDirectory folder_;
  TrainedNetwork trained_;
};

TEST_F(FinalVersionsTest, TheLastWeightsAreTheOnlyVersionIfTheBestAreNotKept) {
  const FinalVersions versions = write(false, true);
  EXPECT_EQ(versions.newest, "1");
  EXPECT_FALSE(versions.best_step);
  EXPECT_TRUE(is_last_newest());
}

TEST_F(FinalVersionsTest, TheBestAreTheVersionBehindTheLast) {
  const FinalVersions versions = write(true, true);
  EXPECT_EQ(versions.newest, "2");
  EXPECT_EQ(versions.best_step, 20);
  EXPECT_FALSE(is_last_newest());
  std::filesystem::remove_all(model() / "2");
  EXPECT_TRUE(is_last_newest());
}

TEST_F(FinalVersionsTest, WeightsThatAreLastAndBestAreOneVersion) {
  keep_best(trained_.loaded.weights);
  const FinalVersions versions = write(true, true);
  EXPECT_EQ(versions.newest, "1");
  EXPECT_FALSE(versions.best_step);
}

TEST_F(FinalVersionsTest, WhatAKilledRunHasWrittenIsNotWrittenAgain) {
  const FinalVersions all = write(true, true);
  const auto is_complete = [&](const FinalVersions& versions) {
    return versions.newest == all.newest && versions.best_step == all.best_step && !exists(model() / "3");
  };
  EXPECT_TRUE(is_complete(write(true, false)));
  std::filesystem::remove_all(model() / "2");
  EXPECT_TRUE(is_complete(write(true, false)));
  std::filesystem::remove_all(model() / "1");
  std::filesystem::remove_all(model() / "2");
  EXPECT_TRUE(is_complete(write(true, false)));
}

TEST_F(FinalVersionsTest, BestWeightsThatAreCutAreAnError) {
  folder_.write("net/best", "cut");
  const Result<FinalVersions> versions = write_final_versions({trained_, model(), {}, "0123", 30, true, true});
  ASSERT_FALSE(versions);
  EXPECT_EQ(versions.error().code, ErrorCode::corrupt_file);
}

}  // namespace
}  // namespace znni
