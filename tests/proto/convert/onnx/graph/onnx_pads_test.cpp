#include "proto/convert/onnx/graph/onnx_pads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

constexpr std::array<std::string_view, 2> known = {"auto_pad", "pads"};

Result<Border> pads_with(void (*change)(onnx::NodeProto& node), Vec3 stride = Vec3::cube(1),
                         const VolumeExtents& in = {}) {
  onnx::NodeProto node;
  change(node);
  const Result<OnnxAttributes> attributes = OnnxAttributes::make(node, known);
  return pads_of(*attributes, {2, 3, 4}, stride, 3, in);
}

TEST(OnnxPads, ExplicitOnesHaveAllBeginsFirst) {
  const Result<Border> pads = pads_with([](onnx::NodeProto& node) {
    test::set_integers(node, "pads", {0, 1, 2, 3, 4, 5});
  });
  EXPECT_EQ(*pads, (Border{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(*pads_with([](onnx::NodeProto&) {}), Border{});
}

TEST(OnnxPads, SameKeepsTheExtentAtAStrideOfOne) {
  const auto upper = [](onnx::NodeProto& node) { test::set_text(node, "auto_pad", "SAME_UPPER"); };
  EXPECT_EQ(*pads_with(upper), (Border{{0, 1, 1}, {1, 1, 2}}));
  EXPECT_EQ(*pads_with([](onnx::NodeProto& node) { test::set_text(node, "auto_pad", "SAME_LOWER"); }),
            (Border{{1, 1, 2}, {0, 1, 1}}));
  EXPECT_THAT(pads_with(upper, {1, 2, 2}).error().message, HasSubstr("export it with explicit pads"));
}

// ceil(n / stride) voxels are written, whatever the rest.
TEST(OnnxPads, SameAtLongerStridesDependsOnTheRest) {
  const auto upper = [](onnx::NodeProto& node) { test::set_text(node, "auto_pad", "SAME_UPPER"); };
  EXPECT_EQ(*pads_with(upper, {3, 2, 2}, {{9, 8, 8}, {3, 2, 2}}), (Border{{0, 0, 1}, {0, 1, 1}}));
  EXPECT_EQ(*pads_with(upper, {3, 2, 2}, {{10, 9, 9}, {3, 2, 2}}), (Border{{0, 1, 1}, {1, 1, 2}}));
  EXPECT_EQ(*pads_with(upper, {2, 2, 2}, {{10, 9, 9}, {}}), (Border{{0, 1, 1}, {0, 1, 2}})) << "one volume";
  EXPECT_THAT(pads_with(upper, {1, 2, 2}, {{9, 8, 8}, {1, 1, 1}}).error().message,
              HasSubstr("pads volumes in different ways"));
}

TEST(OnnxPads, NodesThatPadByExtents) {
  const auto is_one = [](const char* mode, const test::Integers& strides) {
    onnx::NodeProto node;
    test::set_text(node, "auto_pad", mode);
    test::set_integers(node, "strides", strides);
    return pads_by_extent(node);
  };
  EXPECT_TRUE(is_one("SAME_UPPER", {1, 2, 1}));
  EXPECT_FALSE(is_one("SAME_UPPER", {1, 1, 1}));
  EXPECT_FALSE(is_one("VALID", {2, 2, 2}));
}

TEST(OnnxPads, WrongOnesAreRefused) {
  EXPECT_THAT(pads_with([](onnx::NodeProto& node) {
                test::set_integers(node, "pads", {1, 1});
              })
                  .error()
                  .message,
              HasSubstr("has 2 pads; 6 are right"));
  EXPECT_THAT(pads_with([](onnx::NodeProto& node) { test::set_text(node, "auto_pad", "ALL"); }).error().message,
              HasSubstr("auto_pad = 'ALL' is unknown"));
}

}  // namespace
}  // namespace znni
