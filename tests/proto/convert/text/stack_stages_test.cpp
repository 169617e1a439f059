#include "proto/convert/text/stack_stages.hpp"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace znni {
namespace {

using testing::HasSubstr;

StackStage pool(PoolKind kind, Vec3 window, Vec3 before, Vec3 behind) {
  return {StackOperation::pool, kind, window, before, behind, {}};
}

StackStage activation(ActivationKind kind, float alpha) {
  return {StackOperation::activation, PoolKind::max, Vec3::cube(1), {}, {}, {kind, alpha}};
}

// Returns the stage that the text is, of a network of two axes.
Result<StackStage> read(const std::string& words) {
  text::StackStage message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(words, &message)) << words;
  return stage_of(message, 2);
}

TEST(StackStages, ReadAsTheyAreWritten) {
  const std::vector<StackStage> stages = {pool(PoolKind::max, {1, 3, 3}, {0, 1, 1}, {0, 1, 1}),
                                          pool(PoolKind::average, {1, 2, 3}, {}, {0, 0, 2}),
                                          {StackOperation::scale_shift},
                                          activation(ActivationKind::relu, 0),
                                          activation(ActivationKind::leaky_relu, 0.5F)};
  for (const StackStage& stage : stages) {
    text::StackStage message;
    set_stage(message, stage, 2);
    const Result<StackStage> again = stage_of(message, 2);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, stage) << message.ShortDebugString();
  }
}

TEST(StackStages, AreWrittenInFewWords) {
  text::StackStage message;
  set_stage(message, pool(PoolKind::max, {1, 3, 3}, {0, 1, 1}, {}), 2);
  EXPECT_EQ(*read("max_pool { window: 3 pad_begin: 1 }"), pool(PoolKind::max, {1, 3, 3}, {0, 1, 1}, {}));
  EXPECT_EQ(message.max_pool().window_size(), 1);
  EXPECT_EQ(message.max_pool().pad_begin_size(), 1);
  EXPECT_EQ(message.max_pool().pad_end_size(), 0);
}

TEST(StackStages, PoolingsOfOtherKindsAreRefused) {
  EXPECT_THAT(read("").error().message, HasSubstr("no operation"));
  for (const char* other : {"max_pool {}", "max_pool { window: 2 stride: 1 }", "max_pool { window: 2 dilation: 1 }",
                            "average_pool { window: 2 inside: true }", "max_pool { window: 2 strided: true }"}) {
    EXPECT_THAT(read(other).error().message, HasSubstr("a pooling of a stack needs window")) << other;
  }
  EXPECT_FALSE(read("max_pool { window: 2 pad_end: -1 }"));
}

}  // namespace
}  // namespace znni
