#include "proto/convert/onnx/graph/onnx_attributes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/proto/convert/onnx/onnx_model.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

constexpr std::array<std::string_view, 5> known = {"i", "f", "s", "ints", "extent"};

TEST(OnnxAttributes, ValuesAndDefaults) {
  onnx::NodeProto node;
  test::set_integer(node, "i", 7);
  test::set_real(node, "f", 0.5F);
  test::set_text(node, "s", "word");
  test::set_integers(node, "ints", {1, 2});
  const Result<OnnxAttributes> attributes = OnnxAttributes::make(node, known);
  ASSERT_TRUE(attributes);
  EXPECT_EQ(*attributes->integer("i", 1), 7);
  EXPECT_EQ(*attributes->real("f", 1), 0.5F);
  EXPECT_EQ(*attributes->text("s", ""), "word");
  EXPECT_EQ(*attributes->integers("ints"), (std::vector<std::int64_t>{1, 2}));

  const onnx::NodeProto none;
  const Result<OnnxAttributes> defaults = OnnxAttributes::make(none, known);
  ASSERT_TRUE(defaults);
  EXPECT_EQ(*defaults->integer("i", 1), 1);
  EXPECT_EQ(*defaults->real("f", 2), 2);
  EXPECT_EQ(*defaults->text("s", "x"), "x");
  EXPECT_TRUE(defaults->integers("ints")->empty());
  EXPECT_EQ(*defaults->extent("extent", 3, {4, 5, 6}), (Vec3{4, 5, 6}));
  EXPECT_EQ(defaults->find("i"), nullptr);
}

TEST(OnnxAttributes, WrongTypesAreErrors) {
  onnx::NodeProto node;
  test::set_integer(node, "f", 7);
  test::set_real(node, "i", 7);
  test::set_integer(node, "s", 7);
  test::set_integer(node, "ints", 7);
  const Result<OnnxAttributes> attributes = OnnxAttributes::make(node, known);
  ASSERT_TRUE(attributes);
  EXPECT_EQ(attributes->real("f", 0).error().message, "attribute 'f' has type INT; FLOAT is right");
  EXPECT_EQ(attributes->integer("i", 0).error().message, "attribute 'i' has type FLOAT; INT is right");
  EXPECT_EQ(attributes->text("s", "").error().message, "attribute 's' has type INT; STRING is right");
  EXPECT_EQ(attributes->integers("ints").error().message, "attribute 'ints' has type INT; INTS is right");
}

TEST(OnnxAttributes, UnknownAndRepeatedOnesAreErrors) {
  onnx::NodeProto unknown;
  test::set_integer(unknown, "ceil\nmode", 7);
  const Result<OnnxAttributes> refused = OnnxAttributes::make(unknown, known);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "attribute 'ceil?mode' is not supported; supported are: i, f, s, ints, extent");
  onnx::NodeProto twice;
  test::set_integer(twice, "i", 7);
  test::set_integer(twice, "i", 8);
  EXPECT_EQ(OnnxAttributes::make(twice, known).error().message, "attribute 'i' stands twice");
  EXPECT_THAT(OnnxAttributes::make(twice, {}).error().message, HasSubstr("supported are: none"));
}

TEST(OnnxAttributes, ExtentsFillFromTheLastAxis) {
  onnx::NodeProto node;
  test::set_integers(node, "extent", {2, 3});
  const Result<OnnxAttributes> attributes = OnnxAttributes::make(node, known);
  ASSERT_TRUE(attributes);
  EXPECT_EQ(*attributes->extent("extent", 2, Vec3::cube(1)), (Vec3{1, 2, 3}));
  EXPECT_EQ(attributes->extent("extent", 3, Vec3::cube(1)).error().message,
            "attribute 'extent' has 2 values; the net has 3 spatial axes");
}

TEST(OnnxAttributes, ExtentsAreBounded) {
  for (const std::int64_t wrong : {std::int64_t{0}, std::int64_t{-1}, (std::int64_t{1} << 20) + 1, saturated}) {
    onnx::NodeProto node;
    test::set_integers(node, "extent", {1, wrong, 1});
    const Result<OnnxAttributes> attributes = OnnxAttributes::make(node, known);
    ASSERT_TRUE(attributes);
    EXPECT_THAT(attributes->extent("extent", 3, Vec3::cube(1)).error().message,
                HasSubstr("holds " + std::to_string(wrong) + "; 1 to 2^20 is right"));
  }
}

TEST(OnnxAttributes, RequireAll) {
  onnx::NodeProto node;
  test::set_integers(node, "ints", {1, 1, 2});
  const Result<OnnxAttributes> attributes = OnnxAttributes::make(node, known);
  ASSERT_TRUE(attributes);
  EXPECT_EQ(require_all(*attributes, "ints", 1).error().message, "ints of 2 are not supported; only 1");
  EXPECT_TRUE(require_all(*attributes, "extent", 1));
}

}  // namespace
}  // namespace znni
