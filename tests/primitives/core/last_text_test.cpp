#include "primitives/core/last_text.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace znni {
namespace {

LayerProblem conv_to(std::int64_t channels) {
  ConvProblem conv;
  conv.in = {1, 2, Vec3::cube(9)};
  conv.f_out = channels;
  return conv;
}

LayerProblem pool_of(const Shape5& in) {
  PoolProblem pool;
  pool.in = in;
  return pool;
}

TEST(LastText, IsThatOfTheProblemInTurn) {
  for (const std::int64_t channels : {4, 4, 8, 4, 8, 8}) {
    EXPECT_EQ(last_text(conv_to(channels)), to_string(conv_to(channels)));
  }
}

TEST(LastText, OfTwoKindsWithEqualShapesDiffers) {
  const Shape5 shape{1, 2, Vec3::cube(4)};
  EXPECT_EQ(last_text(pool_of(shape)), to_string(pool_of(shape)));
  EXPECT_EQ(last_text(AcrossChannelsProblem{shape, {}}), to_string(LayerProblem(AcrossChannelsProblem{shape, {}})));
}

TEST(LastText, IsNotChangedByAnotherThread) {
  const std::string& own = last_text(conv_to(4));
  std::thread([] { EXPECT_EQ(last_text(conv_to(8)), to_string(conv_to(8))); }).join();
  EXPECT_EQ(own, to_string(conv_to(4)));
}

}  // namespace
}  // namespace znni
