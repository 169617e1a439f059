#include "server/train/output_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/train/model_version.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::StartsWith;

LoadedNetwork small_network(std::uint64_t seed) {
  Network network;
  Convolution conv;
  conv.f_out = 2;
  conv.k = Vec3::cube(3);
  conv.activation.kind = ActivationKind::sigmoid;
  network.nodes.push_back({"conv", conv, {0}});
  NetworkWeights weights = random_weights(network, seed);
  return {std::move(network), std::move(weights)};
}

class OutputFolderTest : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path model() const { return folder_.path() / "net"; }
  [[nodiscard]] std::filesystem::path file(const std::string& name) const { return model() / name; }

  test::TemporaryDirectory folder_;
};

TEST_F(OutputFolderTest, OneTrainsThereAtATime) {
  {
    const Result<FileHandle> first = lock_output(model());
    ASSERT_TRUE(first) << first.error().message;
    const Result<FileHandle> second = lock_output(model());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ErrorCode::unavailable);
    EXPECT_THAT(second.error().message, StartsWith(model().string() + ": another znni-train trains there; "));
  }
  EXPECT_TRUE(lock_output(model()));
}

// The one that is refused removes nothing: what is unfinished may be the other one's.
TEST_F(OutputFolderTest, WhatKilledOnesLeftIsRemoved) {
  folder_.write("net/checkpoint.Ab3xYz.unfinished", "zn");
  folder_.write("net/train.jsonl.Ab3xYz.unfinished", "{");
  folder_.write("net/checkpoint.backup", "mine");
  const Result<FileHandle> lock = lock_output(model());
  ASSERT_TRUE(lock);
  EXPECT_FALSE(exists(file("checkpoint.Ab3xYz.unfinished")));
  EXPECT_FALSE(exists(file("train.jsonl.Ab3xYz.unfinished")));
  EXPECT_TRUE(exists(file("checkpoint.backup")));
  folder_.write("net/checkpoint.Ab3xYz.unfinished", "zn");
  EXPECT_FALSE(lock_output(model()));
  EXPECT_TRUE(exists(file("checkpoint.Ab3xYz.unfinished")));
}

TEST_F(OutputFolderTest, TheCheckpointOfThisTrainingIsFound) {
  ASSERT_TRUE(lock_output(model()));
  EXPECT_FALSE(find_checkpoint(model(), "0123")->has_value());
  Checkpoint checkpoint;
  checkpoint.training = "0123";
  checkpoint.steps = 7;
  ASSERT_TRUE(write_checkpoint(checkpoint_file(model()), checkpoint));
  const Result<std::optional<Checkpoint>> found = find_checkpoint(model(), "0123");
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->steps, 7);
  const Result<std::optional<Checkpoint>> other = find_checkpoint(model(), "4567");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message, StartsWith(file("checkpoint").string() + ": a checkpoint of another training; "));
  folder_.write("net/checkpoint", "cut");
  EXPECT_FALSE(find_checkpoint(model(), "0123"));
}

TEST_F(OutputFolderTest, ACheckpointIsRemoved) {
  folder_.write("net/checkpoint", "any");
  folder_.write("net/best", "any");
  EXPECT_TRUE(remove_checkpoint(model()));
  EXPECT_FALSE(exists(file("checkpoint")));
  EXPECT_FALSE(exists(file("best")));
  EXPECT_TRUE(remove_checkpoint(model()));
}

TEST_F(OutputFolderTest, AVersionOfTheseWeightsIsKnown) {
  EXPECT_FALSE(newest_version_if(small_network(1), model()));
  ASSERT_TRUE(write_model_version(small_network(1), model(), {}));
  EXPECT_EQ(newest_version_if(small_network(1), model()), "1");
  EXPECT_EQ(newest_version_if(small_network(1), model() / ""), "1");
  EXPECT_FALSE(newest_version_if(small_network(2), model()));
  ASSERT_TRUE(write_model_version(small_network(2), model(), {}));
  EXPECT_FALSE(newest_version_if(small_network(1), model()));
  EXPECT_EQ(newest_version_if(small_network(2), model()), "2");
  folder_.write("net/3/model.onnx", "no model");
  EXPECT_FALSE(newest_version_if(small_network(2), model()));
}

}  // namespace
}  // namespace znni
