#include "server/train/train_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

class TrainLogTest : public testing::Test {
 protected:
  [[nodiscard]] std::string path() const { return (folder_.path() / "train.jsonl").string(); }
  TrainLog open(std::int64_t steps) const {
    Result<TrainLog> log = TrainLog::open(path(), steps);
    EXPECT_TRUE(log) << (log ? "" : log.error().message);
    return *std::move(log);
  }
  [[nodiscard]] std::string text() const { return test::read_text(path()); }

  test::TemporaryDirectory folder_;
};

const std::string first = R"({"step":1,"loss":0.1,"learning_rate":0.5,"gradient_norm":2.0,"seconds":0.25})"
                          "\n";
const std::string second = R"({"step":2,"validation_loss":0.75})"
                           "\n";

TEST_F(TrainLogTest, WritesALineForEachStep) {
  TrainLog log = open(0);
  ASSERT_TRUE(log.add({1, 0.1, 0.5, 2, 0.25}));
  EXPECT_EQ(text(), first);
  ASSERT_TRUE(log.add_validation(2, {.loss = 0.75}));
  EXPECT_EQ(text(), first + second);
  EXPECT_TRUE(log.sync());
}

TEST_F(TrainLogTest, WritesTheScoresOfAValidation) {
  TrainLog log = open(0);
  ValidationScore binary = {.loss = 0.5};
  binary.precision_recall = PrecisionRecall{0.75, 0.5, 0.25};
  ASSERT_TRUE(log.add_validation(1, binary));
  EXPECT_EQ(text(), R"({"step":1,"validation_loss":0.5,"average_precision":0.75,"best_f1":0.5,)"
                    R"("best_f1_threshold":0.25})"
                    "\n");
  TrainLog classes = open(0);
  ASSERT_TRUE(
      classes.add_validation(1, {.loss = 0.5, .accuracy = 0.75, .mean_dice = 0.5, .dice = {0.5, std::nullopt}}));
  EXPECT_EQ(text(), R"({"step":1,"validation_loss":0.5,"accuracy":0.75,"mean_dice":0.5,"dice":[0.5,null]})"
                    "\n");
}

TEST_F(TrainLogTest, TakesStepsAwayThatWillBeDoneAgain) {
  folder_.write("train.jsonl", first + second + "{\"step\":3}\n");
  TrainLog log = open(2);
  EXPECT_EQ(text(), first + second);
  ASSERT_TRUE(log.add_validation(2, {.loss = 0.75}));
  EXPECT_EQ(text(), first + second + second);
  open(1);
  EXPECT_EQ(text(), first);
  open(0);
  EXPECT_EQ(text(), "");
}

TEST_F(TrainLogTest, KnowsWhetherTheLastLineIsAValidation) {
  folder_.write("train.jsonl", first + second);
  EXPECT_FALSE(open(1).is_validated(1));
  folder_.write("train.jsonl", first + second);
  TrainLog log = open(2);
  EXPECT_TRUE(log.is_validated(2));
  EXPECT_FALSE(log.is_validated(1));
  ASSERT_TRUE(log.add({3, 0.1, 0.5, 2, 0.25}));
  EXPECT_FALSE(log.is_validated(2));
  ASSERT_TRUE(log.add_validation(3, {.loss = 0.75}));
  EXPECT_TRUE(log.is_validated(3));
}

TEST_F(TrainLogTest, TakesACutLineAway) {
  folder_.write("train.jsonl", first + R"({"step":2,"los)");
  open(9);
  EXPECT_EQ(text(), first);
  folder_.write("train.jsonl", first + "no json\n" + second);
  open(9);
  EXPECT_EQ(text(), first);
}

TEST_F(TrainLogTest, SaysWhichFileCannotBeWritten) {
  const std::string missing = (folder_.path() / "none" / "train.jsonl").string();
  const Result<TrainLog> log = TrainLog::open(missing, 0);
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error().message, HasSubstr(missing));
}

}  // namespace
}  // namespace znni
