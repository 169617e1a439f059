#include "proto/convert/onnx/graph/onnx_extents.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace znni {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

VolumeNumber constant(std::int64_t value) { return {value, {}}; }
VolumeNumber along_z(std::int64_t least, std::int64_t step) { return {least, {step, 0, 0}}; }

TEST(OnnxExtents, NodesChangeThem) {
  const VolumeExtents in{{20, 24, 28}, {4, 2, 1}};
  EXPECT_EQ(extents_after(Convolution{1, {3, 3, 3}, {2, 1, 1}, {}}, {}, in).extents,
            (VolumeExtents{{16, 22, 26}, {4, 2, 1}}));
  EXPECT_EQ(extents_after(Convolution{1, {3, 3, 3}, {1, 1, 1}, {}}, {{1, 1, 1}, {1, 1, 1}}, in).extents, in);
  EXPECT_EQ(extents_after(Crop{{1, 2, 3}, {1, 0, 0}}, {}, in).extents, (VolumeExtents{{18, 22, 25}, {4, 2, 1}}));
  EXPECT_EQ(extents_after(Upsample{{2, 3, 1}}, {}, in).extents, (VolumeExtents{{40, 72, 28}, {8, 6, 1}}));
  EXPECT_EQ(extents_after(Activate{}, {}, in).extents, in);
}

TEST(OnnxExtents, StridesDivideTheStepOrTheExtentIsNotKnown) {
  const ExtentAfter pooled = extents_after(Pooling{}, {}, {{21, 24, 28}, {4, 2, 1}});
  EXPECT_EQ(pooled.extents, (VolumeExtents{{10, 12, 0}, {2, 1, 0}}));
  EXPECT_EQ(pooled.rest, (Vec3{1, 0, 0}));
  EXPECT_EQ(extents_after(Pooling{}, {}, {{21, 24, 28}, {}}).extents, (VolumeExtents{{10, 12, 14}, {}}));
  EXPECT_EQ(extents_after(Convolution{1, {3, 3, 3}, {1, 1, 1}, {}}, {}, {{2, 0, 3}, {1, 0, 1}}).extents,
            (VolumeExtents{{0, 0, 1}, {0, 0, 1}}));
  EXPECT_EQ(extents_after(Upsample{{4096, 1, 1}}, {}, {{std::int64_t{1} << 39, 4, 4}, {}}).extents.least.z, 0);
}

TEST(OnnxExtents, OneAlongAnAxis) {
  const VolumeExtents extents{{20, 24, 0}, {4, 0, 0}};
  EXPECT_EQ(extent_along(extents, 0), along_z(20, 4));
  EXPECT_EQ(extent_along(extents, 1), constant(24));
  EXPECT_EQ(extent_along(extents, 2), std::nullopt);
}

TEST(OnnxExtents, SignsForAllVolumes) {
  EXPECT_TRUE(is_constant(constant(-3)));
  EXPECT_FALSE(is_constant(along_z(3, 1)));
  EXPECT_TRUE(is_never_negative(along_z(0, 1)));
  EXPECT_FALSE(is_never_negative(along_z(5, -1)));
  EXPECT_FALSE(is_never_negative(along_z(-1, 1)));
  EXPECT_TRUE(is_always_negative(along_z(-1, -1)));
  EXPECT_FALSE(is_always_negative(along_z(-1, 1)));
}

TEST(OnnxExtents, SumsAndProducts) {
  EXPECT_EQ(sum(along_z(20, 4), VolumeNumber{1, {-4, 0, 2}}), (VolumeNumber{21, {0, 0, 2}}));
  EXPECT_EQ(difference(along_z(20, 4), along_z(12, 4)), constant(8));
  EXPECT_EQ(product(along_z(20, 4), constant(-2)), along_z(-40, -8));
  EXPECT_EQ(product(constant(3), along_z(1, 1)), along_z(3, 3));
  EXPECT_EQ(product(along_z(1, 1), along_z(1, 1)), std::nullopt);
  EXPECT_EQ(sum(constant(highest), constant(1)), std::nullopt);
  EXPECT_EQ(sum(along_z(0, highest), along_z(0, 1)), std::nullopt);
  EXPECT_EQ(difference(constant(lowest), constant(1)), std::nullopt);
  EXPECT_EQ(product(constant(highest), constant(2)), std::nullopt);
}

TEST(OnnxExtents, QuotientsRoundTowardsZeroForAllVolumes) {
  EXPECT_EQ(quotient(along_z(21, 4), constant(2)), along_z(10, 2));
  EXPECT_EQ(quotient(along_z(-21, -4), constant(2)), along_z(-10, -2));
  EXPECT_EQ(quotient(along_z(21, 4), constant(-2)), along_z(-10, -2));
  EXPECT_EQ(quotient(constant(-7), constant(2)), constant(-3));
  EXPECT_EQ(quotient(along_z(-4, 4), constant(4)), along_z(-1, 1));
  EXPECT_EQ(quotient(along_z(-5, 4), constant(4)), std::nullopt);  // -1, then 0, then 0: no sum of steps
  EXPECT_EQ(quotient(along_z(20, 1), constant(2)), std::nullopt);
  EXPECT_EQ(quotient(constant(1), constant(0)), std::nullopt);
  EXPECT_EQ(quotient(constant(lowest), constant(-1)), std::nullopt);
  EXPECT_EQ(quotient(constant(1), constant(lowest)), std::nullopt);
  EXPECT_EQ(quotient(constant(8), along_z(2, 2)), std::nullopt);
}

TEST(OnnxExtents, RemaindersHaveTheSignThatOnnxAsksFor) {
  EXPECT_EQ(remainder(along_z(21, 4), constant(4), false), constant(1));
  EXPECT_EQ(remainder(constant(-7), constant(4), false), constant(1));
  EXPECT_EQ(remainder(constant(7), constant(-4), false), constant(-1));
  EXPECT_EQ(remainder(constant(-7), constant(4), true), constant(-3));
  EXPECT_EQ(remainder(along_z(-7, 4), constant(4), true), std::nullopt);
  EXPECT_EQ(remainder(along_z(21, 3), constant(4), false), std::nullopt);
  EXPECT_EQ(remainder(constant(lowest), constant(-1), false), constant(0));
  EXPECT_EQ(remainder(constant(1), constant(0), false), std::nullopt);
}

TEST(OnnxExtents, ComparisonsHoldForAllVolumesOrNotAtAll) {
  EXPECT_EQ(is_less(along_z(20, 4), along_z(21, 4)), true);
  EXPECT_EQ(is_less(along_z(20, 4), constant(20)), false);
  EXPECT_EQ(is_less(along_z(20, 4), constant(100)), std::nullopt);
  EXPECT_EQ(is_less(constant(lowest), constant(highest)), true);
  EXPECT_EQ(is_equal(along_z(20, 4), along_z(20, 4)), true);
  EXPECT_EQ(is_equal(along_z(20, 4), constant(19)), false);
  EXPECT_EQ(is_equal(along_z(20, 4), along_z(20, 2)), std::nullopt);
  EXPECT_EQ(is_equal(constant(lowest), constant(highest)), false);
}

TEST(OnnxExtents, RatiosAreTheSameForAllVolumes) {
  EXPECT_EQ(ratio(along_z(40, 8), along_z(20, 4)), 2.0);
  EXPECT_EQ(ratio(constant(3), constant(2)), 1.5);
  EXPECT_EQ(ratio(along_z(41, 8), along_z(20, 4)), std::nullopt);
  EXPECT_EQ(ratio(constant(40), along_z(20, 4)), std::nullopt);
  EXPECT_EQ(ratio(along_z(1, highest), along_z(2, highest)), std::nullopt);
}

TEST(OnnxExtents, Texts) {
  EXPECT_EQ(to_string(constant(-7)), "-7");
  EXPECT_EQ(to_string(along_z(20, 4)), "a number that depends on the volume");
}

}  // namespace
}  // namespace znni
