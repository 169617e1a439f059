#include "proto/convert/onnx/folding/onnx_fold_sequence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/proto/convert/onnx/folding/onnx_folding.hpp"

namespace znni {
namespace {

using test::OnnxModel;
using testing::HasSubstr;

// Returns element `at` of the sequence 7, 8, into which 9 was inserted at `place`; without a place at the end.
std::string element(std::int64_t at, std::optional<std::int64_t> place = std::nullopt) {
  OnnxModel model(2);
  for (const std::int64_t value : {7, 8, 9}) model.integer(test::numbered("v", static_cast<int>(value)), value);
  model.integer("at", at);
  model.integer("place", place.value_or(0));
  model.node("SequenceEmpty", {}, {"s0"});
  model.node("SequenceInsert", {"s0", "v7"}, {"s1"});
  model.node("SequenceInsert", {"s1", "v8"}, {"s2"});
  model.node("SequenceInsert", {"s2", "v9", place ? "place" : ""}, {"s3"});
  model.node("SequenceAt", {"s3", "at"}, {"out"});
  return test::folded(model);
}

TEST(OnnxFoldSequence, TensorsAreAppendedAndTaken) {
  EXPECT_EQ(element(0), "[]: 7");
  EXPECT_EQ(element(1), "[]: 8");
  EXPECT_EQ(element(2), "[]: 9");
  EXPECT_EQ(element(-1), "[]: 9");
  EXPECT_EQ(element(-3), "[]: 7");
}

TEST(OnnxFoldSequence, TensorsAreInsertedInBetween) {
  EXPECT_EQ(element(0, 0), "[]: 9");
  EXPECT_EQ(element(1, 1), "[]: 9");
  EXPECT_EQ(element(2, 2), "[]: 9");
  EXPECT_EQ(element(1, -1), "[]: 9");
  EXPECT_EQ(element(2, -1), "[]: 8");
}

TEST(OnnxFoldSequence, PlacesBeyondTheEndAreRefused) {
  EXPECT_THAT(element(3), HasSubstr("has position 3 of 3 tensors"));
  EXPECT_THAT(element(-4), HasSubstr("has position -4 of 3 tensors"));
  EXPECT_THAT(element(0, 3), HasSubstr("has position 3 of 2 tensors"));
}

TEST(OnnxFoldSequence, ExtentsMayBeElements) {
  OnnxModel model(2);
  model.node("Shape", {"in"}, {"shape"});
  model.node("SequenceEmpty", {}, {"s0"});
  model.node("SequenceInsert", {"s0", "shape"}, {"s1"});
  model.integer("at", 0);
  model.node("SequenceAt", {"s1", "at"}, {"out"});
  EXPECT_EQ(test::folded(model), "[5]: 1, 2, 20+4z, 24+2y, 28+1x");
}

TEST(OnnxFoldSequence, VoxelsAreNoElements) {
  OnnxModel model(2);
  model.node("SequenceEmpty", {}, {"s0"});
  model.node("SequenceInsert", {"s0", "in"}, {"out"});
  EXPECT_THAT(test::folded(model), HasSubstr("what it inserts is not known"));
  OnnxModel unknown(2);
  unknown.integer("at", 0);
  unknown.node("SequenceAt", {"in", "at"}, {"out"});
  EXPECT_EQ(test::folded(unknown), "not folded");
}

}  // namespace
}  // namespace znni
