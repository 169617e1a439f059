#include "server/train/trainer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <regex>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// A training without network or volumes: the loss is (w - 3)^2, and a little noise that depends on the step.
class TrainerTest : public testing::Test {
 protected:
  // Describes one run; `stop_at`: the steps after which it is stopped.
  struct Run {
    std::int64_t stop_at = 1000;
    std::int64_t fail_at = 1000;
    double loss_added = 0;
    std::vector<std::int64_t> computed = {};
    std::vector<std::string> told = {};
    int validations = 0;
    int stop_in_validation = 1000;
    int fail_in_validation = 1000;
    double validation_seconds = 0;
    float slope = 0;                // of all weights, if it is not 0
    std::vector<double> dice = {};  // of the validations; 0.25 behind the last
    NetworkWeights weights = {{{0, 10}, {}, {}, {}}};
  };

  TrainerTest() {
    settings_.steps = 20;
    settings_.rate = {0.1, 0, true};
    settings_.optimizer.kind = OptimizerKind::adam;
    settings_.checkpoint_steps = 6;
    settings_.validation_steps = 8;
    settings_.voxels = 1000;
    settings_.training = "0123";
    settings_.checkpoint_file = (folder_.path() / "checkpoint").string();
    settings_.curve_file = (folder_.path() / "curve.svg").string();
  }

  TrainerCalls calls_of(Run& run) {
    TrainerCalls calls;
    calls.compute = [&run](std::int64_t step, NetworkWeights& gradients) -> Result<double> {
      if (step == run.fail_at) return Error{ErrorCode::device_failure, "broken"};
      run.computed.push_back(step);
      double loss = run.loss_added;
      for (std::size_t i = 0; i < 2; ++i) {
        const float distance = run.weights[0].kernels[i] - 3 + 0.1F * std::sin(static_cast<float>(step));
        gradients[0].kernels[i] = 2 * distance;
        loss += static_cast<double>(distance) * distance;
      }
      if (run.slope != 0) gradients[0].kernels.assign(2, run.slope);
      return loss;
    };
    calls.validate = [&run, this]() -> Result<std::optional<ValidationScore>> {
      if (run.validations + 1 == run.stop_in_validation) return std::optional<ValidationScore>();
      if (run.validations + 1 == run.fail_in_validation) return Error{ErrorCode::device_failure, "broken"};
      seconds_ += run.validation_seconds;
      const auto number = static_cast<std::size_t>(run.validations);
      const double dice = number < run.dice.size() ? run.dice[number] : 0.25;
      return std::optional(
          ValidationScore{.loss = static_cast<double>(++run.validations), .accuracy = 0.5, .mean_dice = dice});
    };
    calls.is_stopped = [&run] { return static_cast<std::int64_t>(run.computed.size()) >= run.stop_at; };
    calls.tell = [&run](const std::string& text) { run.told.push_back(text); };
    calls.seconds = [this] { return seconds_ += 0.5; };
    return calls;
  }

  // Runs, from the checkpoint if `resumed`.
  Result<TrainingEnd> train(Run& run, bool resumed = false) {
    std::optional<Checkpoint> checkpoint;
    if (resumed) checkpoint = *read_checkpoint(settings_.checkpoint_file);
    Result<TrainLog> log = TrainLog::open(log_path(), checkpoint ? checkpoint->steps : 0);
    Trainer trainer(settings_, calls_of(run), run.weights, *log);
    if (checkpoint) {
      if (const Result<void> taken = trainer.resume(*std::move(checkpoint)); !taken) return taken.error();
    }
    return trainer.run();
  }

  [[nodiscard]] std::string log_path() const { return (folder_.path() / "train.jsonl").string(); }
  // A stopped validation takes time of the clock.
  [[nodiscard]] static std::string without_seconds(const std::string& log) {
    return std::regex_replace(log, std::regex("\"seconds\":[0-9.]*"), "");
  }
  [[nodiscard]] std::ptrdiff_t log_lines() const {
    const std::string text = test::read_text(log_path());
    return std::count(text.begin(), text.end(), '\n');
  }

  test::TemporaryDirectory folder_;
  TrainerSettings settings_;
  double seconds_ = 0;
};

TEST_F(TrainerTest, DoesAllSteps) {
  Run run;
  const Result<TrainingEnd> end = train(run);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->steps, 20);
  EXPECT_EQ(run.computed.size(), 20);
  EXPECT_EQ(run.computed.back(), 19);
  EXPECT_EQ(run.validations, 3);  // after 8, 16 and the last
  EXPECT_EQ(log_lines(), 23);
  EXPECT_LT(std::abs(run.weights[0].kernels[0] - 3), 2.5);
  const Result<Checkpoint> last = read_checkpoint(settings_.checkpoint_file);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->steps, 20);
  EXPECT_EQ(last->written_as, "");
  EXPECT_EQ(last->weights[0].kernels, run.weights[0].kernels);
}

TEST_F(TrainerTest, TheLearningRateFollowsTheStep) {
  Run run;
  ASSERT_TRUE(train(run));
  const std::string log = test::read_text(log_path());
  EXPECT_THAT(log, HasSubstr(R"("step":1,"loss":58.0,"learning_rate":0.1,)"));
  EXPECT_THAT(log, HasSubstr(R"("step":11,)"));
  EXPECT_THAT(log, HasSubstr(R"("learning_rate":0.05,)"));
}

TEST_F(TrainerTest, StopsWithACheckpointOfTheStep) {
  Run run;
  run.stop_at = 3;
  const Result<TrainingEnd> end = train(run);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->steps, 3);
  EXPECT_EQ(read_checkpoint(settings_.checkpoint_file)->steps, 3);
}

TEST_F(TrainerTest, ContinuesBitByBit) {
  Run whole;
  ASSERT_TRUE(train(whole));
  Run first;
  first.stop_at = 3;
  ASSERT_TRUE(train(first));
  Run second;
  const Result<TrainingEnd> end = train(second, true);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(second.computed.front(), 3);
  EXPECT_EQ(end->steps, 20);
  EXPECT_EQ(second.weights[0].kernels, whole.weights[0].kernels);
  EXPECT_EQ(log_lines(), 23);
}

// The validation behind step 8 is stopped: the step is kept, and the run that goes on does the validation first.
TEST_F(TrainerTest, AStopInAValidationContinuesBitByBit) {
  Run whole;
  ASSERT_TRUE(train(whole));
  const std::string log = without_seconds(test::read_text(log_path()));
  Run first;
  first.stop_in_validation = 1;
  const Result<TrainingEnd> stopped = train(first);
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_TRUE(stopped->is_stopped);
  EXPECT_EQ(read_checkpoint(settings_.checkpoint_file)->steps, 8);
  EXPECT_EQ(log_lines(), 8);
  Run second;
  const Result<TrainingEnd> end = train(second, true);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_FALSE(end->is_stopped);
  EXPECT_EQ(second.computed.front(), 8);
  EXPECT_EQ(second.weights[0].kernels, whole.weights[0].kernels);
  EXPECT_EQ(without_seconds(test::read_text(log_path())), log);
}

// Validations are behind steps 8, 16 and 20. Of equal ones the first is the best.
TEST_F(TrainerTest, KeepsTheWeightsOfTheBestValidation) {
  settings_.best_file = (folder_.path() / "best").string();
  for (const auto& [dice, step] :
       {std::pair(std::vector<double>{0.5, 0.7, 0.6}, 16), {{0.7, 0.7, 0.6}, 8}, {{0.1, 0.2, 0.3}, 20}}) {
    Run run;
    run.dice = dice;
    ASSERT_TRUE(train(run));
    const Result<Checkpoint> best = read_checkpoint(settings_.best_file);
    ASSERT_TRUE(best) << best.error().message;
    EXPECT_EQ(best->steps, step);
    Run part;  // the same weights
    part.stop_at = step;
    settings_.best_file = "";
    ASSERT_TRUE(train(part));
    EXPECT_EQ(best->weights[0].kernels, part.weights[0].kernels);
    settings_.best_file = (folder_.path() / "best").string();
  }
}

TEST_F(TrainerTest, KeepsTheLastWeightsAlone) {
  Run run;
  ASSERT_TRUE(train(run));
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "best"));
}

// A worse validation of the run that goes on does not replace the best one of the run before; a better one does.
TEST_F(TrainerTest, TheBestValidationIsKnownToTheRunThatGoesOn) {
  settings_.best_file = (folder_.path() / "best").string();
  for (const auto& [dice, step] : {std::pair(std::vector<double>{0.5, 0.6}, 8), {{0.5, 0.8}, 20}}) {
    Run first;
    first.dice = {0.7};
    first.stop_at = 10;
    ASSERT_TRUE(train(first));
    Run second;
    second.dice = dice;
    ASSERT_TRUE(train(second, true));
    EXPECT_EQ(read_checkpoint(settings_.best_file)->steps, step);
  }
}

// The weights were kept, and the training killed before the log had the score: the same weights are kept again.
TEST_F(TrainerTest, AKillBehindTheBestValidationChangesNothing) {
  settings_.best_file = (folder_.path() / "best").string();
  Run whole;
  whole.dice = {0.5, 0.7, 0.6};
  ASSERT_TRUE(train(whole));
  const std::string best = test::read_text(settings_.best_file);
  Run stopped;
  stopped.dice = {0.5};
  stopped.stop_in_validation = 2;
  ASSERT_TRUE(train(stopped));
  EXPECT_EQ(read_checkpoint(settings_.best_file)->steps, 8);
  folder_.write("best", best);
  Run second;
  second.dice = {0.7, 0.6};
  ASSERT_TRUE(train(second, true));
  EXPECT_EQ(test::read_text(settings_.best_file), best);
}

// The run that goes on begins with the validation, and ends with the same curve.
TEST_F(TrainerTest, AFailureInAValidationLosesNoStep) {
  Run whole;
  ASSERT_TRUE(train(whole));
  const std::string curve = test::read_text(settings_.curve_file);
  Run first;
  first.fail_in_validation = 3;
  const Result<TrainingEnd> failed = train(first);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "step 20: validation: broken");
  EXPECT_EQ(read_checkpoint(settings_.checkpoint_file)->steps, 20);
  EXPECT_NE(test::read_text(settings_.curve_file), curve);
  Run second;
  second.fail_in_validation = 1;
  ASSERT_FALSE(train(second));
  EXPECT_EQ(read_checkpoint(settings_.checkpoint_file)->steps, 8);
  Run third;
  ASSERT_TRUE(train(third, true));
  EXPECT_EQ(third.computed.front(), 8);
  EXPECT_EQ(test::read_text(settings_.curve_file), curve);
}

TEST_F(TrainerTest, ACurveThatCannotBeWrittenLosesNoStep) {
  settings_.curve_file = (folder_.path() / "none" / "curve.svg").string();
  Run run;
  const Result<TrainingEnd> end = train(run);
  ASSERT_FALSE(end);
  EXPECT_THAT(end.error().message, AllOf(StartsWith("step 6: "), HasSubstr(settings_.curve_file)));
  EXPECT_EQ(read_checkpoint(settings_.checkpoint_file)->steps, 6);
}

// All steps are done, then, and the training is not.
TEST_F(TrainerTest, AStopInTheLastValidationIsAStop) {
  Run first;
  first.stop_in_validation = 3;
  const Result<TrainingEnd> stopped = train(first);
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_TRUE(stopped->is_stopped);
  EXPECT_EQ(stopped->steps, 20);
  Run second;
  const Result<TrainingEnd> end = train(second, true);
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->is_stopped);
  EXPECT_FALSE(end->mean_loss);
  EXPECT_EQ(second.validations, 1);
  EXPECT_EQ(log_lines(), 23);
}

// Loss and gradient are finite, the weights behind the step are not.
TEST_F(TrainerTest, WeightsThatAreNotFiniteAreNotKept) {
  settings_.optimizer.kind = OptimizerKind::sgd;
  settings_.rate = {1e30, 0, false};
  settings_.checkpoint_steps = 1;
  Run run;
  run.slope = 1e30F;
  const Result<TrainingEnd> end = train(run);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message,
            "step 1: a weight is not finite; lower learning_rate, warm up, or set clip_norm, and give --restart");
  EXPECT_FALSE(std::filesystem::exists(settings_.checkpoint_file));
}

// A kill leaves the checkpoint of step 6 and the log of step 7.
TEST_F(TrainerTest, ContinuesBitByBitFromAnEarlierCheckpoint) {
  Run whole;
  ASSERT_TRUE(train(whole));
  const std::string whole_curve = test::read_text(settings_.curve_file);
  EXPECT_THAT(whole_curve, HasSubstr("<svg "));
  Run killed;
  killed.fail_at = 7;
  ASSERT_FALSE(train(killed));
  EXPECT_EQ(log_lines(), 7);
  Run second;
  const std::string curve = test::read_text(settings_.curve_file);
  ASSERT_TRUE(train(second, true));
  EXPECT_NE(test::read_text(settings_.curve_file), curve);
  EXPECT_EQ(test::read_text(settings_.curve_file), whole_curve);
  EXPECT_EQ(second.computed.front(), 6);
  EXPECT_EQ(second.weights[0].kernels, whole.weights[0].kernels);
  EXPECT_EQ(log_lines(), 23);
}

TEST_F(TrainerTest, WhatIsDoneIsNotDoneAgain) {
  Run run;
  ASSERT_TRUE(train(run));
  Run again;
  const Result<TrainingEnd> end = train(again, true);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->steps, 20);
  EXPECT_THAT(again.computed, IsEmpty());
  EXPECT_EQ(again.weights[0].kernels, run.weights[0].kernels);
}

TEST_F(TrainerTest, CheckpointsOfOtherTrainingsAreRefused) {
  Run run;
  ASSERT_TRUE(train(run));
  const auto refusal = [&] {
    Run other;
    const Result<TrainingEnd> end = train(other, true);
    return end ? "" : end.error().message;
  };
  settings_.training = "other";
  EXPECT_EQ(refusal(), settings_.checkpoint_file +
                           ": a checkpoint of another training; give the network and the configuration of that one, "
                           "another --output, or --restart");
  settings_.training = "0123";
  settings_.optimizer.kind = OptimizerKind::sgd;
  EXPECT_THAT(refusal(), HasSubstr("another optimizer"));
  settings_.optimizer.kind = OptimizerKind::adam;
  settings_.steps = 19;
  EXPECT_THAT(refusal(), HasSubstr("another network"));
}

TEST_F(TrainerTest, ErrorsNameTheStep) {
  Run failing;
  failing.fail_at = 4;
  const Result<TrainingEnd> broken = train(failing);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().message, "step 5: broken");
  Run endless;
  endless.loss_added = std::numeric_limits<double>::quiet_NaN();
  const Result<TrainingEnd> end = train(endless);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message,
            "step 1: the loss is nan; lower learning_rate, warm up, or set clip_norm, and give --restart");
  Run far;
  far.weights[0].kernels[0] = std::numeric_limits<float>::infinity();
  far.loss_added = -std::numeric_limits<double>::infinity();
  EXPECT_FALSE(train(far));
}

// The clock is read twice in a step, at the start, and when progress is told: 0.5 s between two looks.
TEST_F(TrainerTest, TellsProgress) {
  settings_.steps = 2;
  Run run;
  ASSERT_TRUE(train(run));
  EXPECT_THAT(run.told, ElementsAre("step 1 of 2, loss 58, 667 voxels/s, 2 s left",
                                    AllOf(HasSubstr("step 2 of 2, loss 57"),
                                          HasSubstr(", validation loss 1, accuracy 0.5, mean Dice 0.25, 0 s left"))));
}

// The clock gives a step two seconds; a validation takes 1000 more. Speed is that of the steps, and what is left counts
// both: the validations are those behind steps 2, 4 and 5.
TEST_F(TrainerTest, WhatIsLeftCountsValidations) {
  settings_.steps = 5;
  settings_.validation_steps = 2;
  Run run;
  run.validation_seconds = 1000;
  ASSERT_TRUE(train(run));
  EXPECT_THAT(run.told[0], HasSubstr(" s left"));
  EXPECT_THAT(run.told[1], AllOf(HasSubstr(" voxels/s, "), HasSubstr(", 33 min left")));
  EXPECT_THAT(run.told[2], HasSubstr(", 33 min left"));
  EXPECT_THAT(run.told[3], HasSubstr(", 17 min left"));
  EXPECT_THAT(run.told[4], HasSubstr(", 0 s left"));
}

TEST_F(TrainerTest, SpeedIsThatOfTheStepsAlone) {
  settings_.steps = 4;
  settings_.validation_steps = 1;
  Run run;
  run.validation_seconds = 1000;
  ASSERT_TRUE(train(run));
  EXPECT_THAT(run.told[0], HasSubstr(", 500 voxels/s, "));
  EXPECT_THAT(run.told[3], AllOf(HasSubstr(", 500 voxels/s, "), HasSubstr(", 0 s left")));
}

}  // namespace
}  // namespace znni
