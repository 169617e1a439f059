#include "proto/convert/text/train_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary.hpp"

namespace znni {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

const std::string counts = "steps: 200 patch: 40\n";
const std::string volume = "volume { input: 'a.h5:/raw' labels: 'a.h5:/labels' }\n";
const std::string loss = "loss { kind: binary_cross_entropy }\n";
const std::string optimizer = "optimizer { kind: sgd learning_rate: 0.1 }\n";
const std::string least = counts + volume + loss + optimizer;

TrainConfig parsed_config(const std::string& text) {
  Result<TrainConfig> config = parse_train_config(text);
  EXPECT_TRUE(config) << (config ? "" : config.error().message);
  return config ? *std::move(config) : TrainConfig{};
}

std::string train_refusal(const std::string& text) {
  const Result<TrainConfig> config = parse_train_config(text);
  return config ? "" : config.error().message;
}

TEST(TrainConfig, TheLeastHasDefaults) {
  const TrainConfig config = parsed_config(least);
  EXPECT_EQ(config.steps, 200);
  EXPECT_EQ(config.patch, Vec3::cube(40));
  EXPECT_EQ(config.seed, 1);
  ASSERT_THAT(config.volumes, SizeIs(1));
  EXPECT_EQ(config.volumes[0].labels, "a.h5:/labels");
  EXPECT_EQ(config.volumes[0].mask, "");
  EXPECT_THAT(config.validation, IsEmpty());
  EXPECT_FALSE(config.keeps_best);
  EXPECT_EQ(config.input_scale, 1);
  EXPECT_EQ(config.targets, TrainTargets::labels);
  EXPECT_THAT(config.loss.class_weights, IsEmpty());
  EXPECT_EQ(config.optimizer.clip_norm, std::nullopt);
  EXPECT_EQ(config.rate.peak, 0.1);
  EXPECT_FALSE(config.rate.cosine);
  EXPECT_EQ(config.sampling, TrainSampling::uniform);
  EXPECT_FALSE(config.augmentation.symmetries);
  EXPECT_EQ(config.checkpoint_steps, 100);
}

TEST(TrainConfig, AllFields) {
  const TrainConfig config = parsed_config(R"(
    steps: 90 patch: [20, 30, 40] seed: 18446744073709551615
    volume { input: "a" labels: "b" mask: "c" weights: "w" } volume { input: "d" labels: "e" }
    validation { input: "f" labels: "g" }
    input_scale: 0.5 input_offset: -1 targets: boundaries sampling: balanced
    loss { kind: softmax_cross_entropy class_weight: [1, 2, 0] }
    optimizer { kind: adamw learning_rate: 0.002 beta1: 0.8 beta2: 0.99 epsilon: 1e-6 weight_decay: 0.01
                warm_up_steps: 9 cosine: true clip_norm: 2 }
    augmentation { symmetries: true contrast: 0.1 brightness: 0.2 missing_planes: 0.3 blurred_planes: 1 }
    checkpoint_steps: 7 validation_steps: 8 keep: best)");
  EXPECT_EQ(config.patch, (Vec3{20, 30, 40}));
  EXPECT_EQ(config.seed, 18446744073709551615U);
  EXPECT_THAT(config.volumes, SizeIs(2));
  EXPECT_EQ(config.volumes[0].mask, "c");
  EXPECT_EQ(config.volumes[0].weights, "w");
  EXPECT_EQ(config.volumes[1].weights, "");
  EXPECT_EQ(config.validation.at(0).input, "f");
  EXPECT_TRUE(config.keeps_best);
  EXPECT_EQ(config.input_offset, -1);
  EXPECT_EQ(config.targets, TrainTargets::boundaries);
  EXPECT_EQ(config.sampling, TrainSampling::balanced);
  EXPECT_EQ(config.loss.kind, LossKind::softmax_cross_entropy);
  EXPECT_THAT(config.loss.class_weights, ElementsAre(1, 2, 0));
  EXPECT_EQ(config.optimizer.kind, OptimizerKind::adamw);
  EXPECT_EQ(config.optimizer.beta1, 0.8);
  EXPECT_EQ(config.optimizer.beta2, 0.99);
  EXPECT_EQ(config.optimizer.epsilon, 1e-6);
  EXPECT_EQ(config.optimizer.weight_decay, 0.01);
  EXPECT_EQ(config.optimizer.clip_norm, 2);
  EXPECT_EQ(config.rate.warm_up_steps, 9);
  EXPECT_TRUE(config.rate.cosine);
  EXPECT_EQ(config.augmentation.blurred_planes, 1);
}

TEST(TrainConfig, WhatIsMissingIsNamed) {
  EXPECT_EQ(train_refusal(""), "steps is missing; a whole number of at least 1 is right");
  EXPECT_THAT(train_refusal("steps: 1"), StartsWith("patch is missing; "));
  EXPECT_THAT(train_refusal(counts), StartsWith("volume is missing; "));
  EXPECT_THAT(train_refusal(counts + "volume { input: 'a' }"), StartsWith("volume 1: labels is missing; "));
  EXPECT_THAT(train_refusal(counts + volume + "validation { labels: 'a' }"), StartsWith("validation 1: input is miss"));
  EXPECT_THAT(train_refusal(counts + volume), StartsWith("loss: kind is missing; "));
  EXPECT_THAT(train_refusal(counts + volume + loss), StartsWith("optimizer: kind is missing; "));
  EXPECT_THAT(train_refusal(counts + volume + loss + "optimizer { kind: adam }"),
              StartsWith("optimizer: learning_rate is missing; "));
}

TEST(TrainConfig, WrongValuesNameFieldFoundAndRight) {
  EXPECT_EQ(train_refusal("steps: 0"), "steps is 0; a whole number of at least 1 is right");
  EXPECT_THAT(train_refusal("steps: 1 patch: [1, 2]"), HasSubstr("patch"));
  EXPECT_THAT(train_refusal("steps: 1 patch: 0"), HasSubstr("patch"));
  EXPECT_THAT(train_refusal("steps: 1 patch: 1048577"), HasSubstr("1 to 2^20"));
  EXPECT_THAT(train_refusal(least + "checkpoint_steps: 0"), StartsWith("checkpoint_steps is 0; "));
  EXPECT_THAT(train_refusal(least + "keep: best"), StartsWith("keep is best without a validation; last, or valid"));
  EXPECT_THAT(train_refusal(least + "input_scale: nan"), StartsWith("input_scale is nan; "));
  EXPECT_THAT(train_refusal(least + "input_offset: inf"), StartsWith("input_offset is inf; "));
  EXPECT_THAT(train_refusal(least + "augmentation { missing_planes: 1.5 }"),
              StartsWith("augmentation: missing_planes is 1.5; a probability"));
  EXPECT_THAT(train_refusal(least + "augmentation { contrast: nan }"), StartsWith("augmentation: contrast is nan; "));
}

TEST(TrainConfig, WrongOptimizers) {
  const auto refused = [](const std::string& fields) {
    return train_refusal(counts + volume + loss + "optimizer { " + fields + " }");
  };
  EXPECT_THAT(refused("kind: sgd learning_rate: 0"), StartsWith("optimizer: learning_rate is 0; a finite number abov"));
  EXPECT_THAT(refused("kind: sgd learning_rate: nan"), StartsWith("optimizer: learning_rate is nan; "));
  EXPECT_THAT(refused("kind: sgd learning_rate: 1 momentum: 1"), StartsWith("optimizer: momentum is 1; "));
  EXPECT_THAT(refused("kind: adam learning_rate: 1 momentum: 0.5"), StartsWith("optimizer: momentum is 0.5 beside"));
  EXPECT_THAT(refused("kind: sgd learning_rate: 1 beta2: 0.5"), StartsWith("optimizer: kind is sgd beside beta1"));
  EXPECT_THAT(refused("kind: adam learning_rate: 1 beta2: 1"), StartsWith("optimizer: beta2 is 1; "));
  EXPECT_THAT(refused("kind: adam learning_rate: 1 clip_norm: 0"), StartsWith("optimizer: clip_norm is 0; "));
  EXPECT_THAT(refused("kind: adam learning_rate: 1 warm_up_steps: 201"),
              StartsWith("optimizer: warm_up_steps is 201; a whole number from 0 to steps, 200,"));
}

TEST(TrainConfig, WrongLosses) {
  const auto refused = [](const std::string& fields) { return train_refusal(counts + volume + optimizer + fields); };
  EXPECT_THAT(refused("loss { kind: binary_cross_entropy class_weight: 1 }"),
              StartsWith("loss: class_weight is a list of 1 numbers; one number for class 0"));
  EXPECT_THAT(refused("loss { kind: dice class_weight: 1 }"), StartsWith("loss: class_weight is a list of 1 numbers"));
  EXPECT_THAT(refused("loss { kind: softmax_cross_entropy class_weight: -1 }"),
              StartsWith("loss: class_weight is -1; "));
  EXPECT_THAT(refused("loss { kind: softmax_cross_entropy class_weight: [0, 0] }"),
              StartsWith("loss: class_weight is 0 for every class; "));
  EXPECT_THAT(refused("targets: affinities loss { kind: softmax_cross_entropy }"), HasSubstr("affinities have three"));
}

TEST(TrainConfig, UnknownFieldsAndWordsNameTheLine) {
  EXPECT_THAT(train_refusal("steps: 1\nstep: 2"), StartsWith("line 2: "));
  EXPECT_THAT(train_refusal("steps: 1\n\nsampling: often"), StartsWith("line 3: "));
}

TEST(TrainConfig, TheTextLeavesOutCommentsAndSpaces) {
  EXPECT_EQ(parsed_config(least).text, parsed_config("# a comment\n" + optimizer + counts + volume + "\n" + loss).text);
  EXPECT_NE(parsed_config(least).text, parsed_config(least + "seed: 2").text);
}

TEST(TrainConfig, ErrorsOfFilesBeginWithThePath) {
  const test::TemporaryDirectory folder;
  const std::string path = (folder.path() / "train.pbtxt").string();
  const Result<TrainConfig> none = read_train_config(path);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::not_found);
  folder.write("train.pbtxt", "steps: 0");
  const Result<TrainConfig> wrong = read_train_config(path);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, path + ": steps is 0; a whole number of at least 1 is right");
}

TEST(TrainConfig, WordsAreThoseOfTheFile) {
  EXPECT_EQ(to_string(LossKind::softmax_cross_entropy), "softmax_cross_entropy");
  EXPECT_EQ(to_string(OptimizerKind::adamw), "adamw");
}

}  // namespace
}  // namespace znni
