#include "server/train/checkpoint.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>

#include "planner/base/fingerprint.hpp"
#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Checkpoint example() {
  Checkpoint checkpoint = {"0123456789abcdef0123456789abcdef", 70, "3", {}, {}};
  checkpoint.weights = {{{1, -0.0F, 1e-40F, 0.1F}, {7}, {}, {}}, {}, {{}, {}, {2}, {3, 4}}};
  checkpoint.optimizer = {71, checkpoint.weights, {}};
  checkpoint.with = {"a.h5\t1 2 3\n", "fedcba", "--mem 7 --threads 2"};
  checkpoint.merit = -0.1;
  return checkpoint;
}

std::vector<std::uint32_t> bits_of(const NetworkWeights& weights) {
  std::vector<std::uint32_t> bits;
  for (const NodeWeights& node : weights) {
    for (const std::vector<float>* part : {&node.kernels, &node.bias, &node.scale, &node.shift}) {
      bits.push_back(static_cast<std::uint32_t>(part->size()));
      for (const float value : *part) bits.push_back(std::bit_cast<std::uint32_t>(value));
    }
  }
  return bits;
}

class CheckpointTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return (folder_.path() / "checkpoint").string(); }
  [[nodiscard]] std::string refusal(std::string_view bytes) const {
    folder_.write("checkpoint", bytes);
    const Result<Checkpoint> read = read_checkpoint(path());
    if (read) return "";
    EXPECT_EQ(read.error().code, ErrorCode::corrupt_file);
    EXPECT_THAT(read.error().message, StartsWith(path() + ": "));
    return read.error().message;
  }

  test::TemporaryDirectory folder_;
};

TEST_F(CheckpointTest, ReadsBackBitByBit) {
  const Checkpoint written = example();
  ASSERT_TRUE(write_checkpoint(path(), written));
  const Result<Checkpoint> read = read_checkpoint(path());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->training, written.training);
  EXPECT_EQ(read->steps, 70);
  EXPECT_EQ(read->written_as, "3");
  EXPECT_EQ(bits_of(read->weights), bits_of(written.weights));
  EXPECT_EQ(read->optimizer.updates, 71);
  EXPECT_EQ(bits_of(read->optimizer.first), bits_of(written.optimizer.first));
  EXPECT_TRUE(read->optimizer.second.empty());
  EXPECT_EQ(read->with.volumes, written.with.volumes);
  EXPECT_EQ(read->with.plan, "fedcba");
  EXPECT_EQ(read->with.limits, "--mem 7 --threads 2");
  EXPECT_EQ(read->merit, -0.1);
}

TEST_F(CheckpointTest, BestWeightsAreOfTheTrainingUpToItsStep) {
  EXPECT_FALSE(find_best(path(), example().training, 100)->has_value());
  ASSERT_TRUE(write_checkpoint(path(), example()));
  EXPECT_EQ(find_best(path(), example().training, 70).value().value().merit, -0.1);
  EXPECT_FALSE(find_best(path(), example().training, 69)->has_value());
  EXPECT_FALSE(find_best(path(), "0123", 70)->has_value());
  folder_.write("checkpoint", "cut");
  EXPECT_FALSE(find_best(path(), example().training, 70));
}

TEST_F(CheckpointTest, ReplacesTheOldOneAndLeavesNothingElse) {
  ASSERT_TRUE(write_checkpoint(path(), example()));
  Checkpoint next = example();
  next.steps = 80;
  ASSERT_TRUE(write_checkpoint(path(), next));
  EXPECT_EQ(read_checkpoint(path())->steps, 80);
  const std::filesystem::directory_iterator all(folder_.path());
  EXPECT_EQ(std::distance(begin(all), end(all)), 1);
}

TEST_F(CheckpointTest, NoFileIsNotFound) {
  const Result<Checkpoint> none = read_checkpoint(path());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
}

TEST_F(CheckpointTest, CutOnesAreRefusedAtEveryByte) {
  ASSERT_TRUE(write_checkpoint(path(), example()));
  const std::string whole = test::read_text(path());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ASSERT_THAT(refusal(std::string_view(whole).substr(0, size)), HasSubstr("move it away")) << size;
  }
}

TEST_F(CheckpointTest, ChangedOnesAreRefusedAtEveryByte) {
  ASSERT_TRUE(write_checkpoint(path(), example()));
  const std::string whole = test::read_text(path());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    ASSERT_NE(refusal(changed), "") << at;
  }
}

TEST_F(CheckpointTest, ForeignFilesAreRefused) {
  EXPECT_THAT(refusal("a model"), HasSubstr("no checkpoint of this znni-train"));
  EXPECT_THAT(refusal("znni-train checkpoint 2\n"), HasSubstr("no checkpoint of this znni-train"));
}

// One that has a right sum, but counts that lead beyond its end.
TEST_F(CheckpointTest, CountsBeyondTheFileAreRefused) {
  std::string bytes = "znni-train checkpoint 3\n" + std::string(7, '\xff') + '\x7f';
  Fingerprint sum;
  sum.add(bytes);
  EXPECT_THAT(refusal(bytes + sum.text()), HasSubstr("a checkpoint with other fields"));
}

}  // namespace
}  // namespace znni
