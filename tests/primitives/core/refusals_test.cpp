#include "primitives/core/refusals.hpp"

#include <gtest/gtest.h>

namespace znni {
namespace {

TEST(Refusals, TellWhatIsWrongFromWhatIsNotComputed) {
  EXPECT_EQ(invalid_argument("2 steps for 3 nodes").code, ErrorCode::invalid_argument);
  EXPECT_EQ(invalid_argument("2 steps for 3 nodes").message, "2 steps for 3 nodes");
  EXPECT_EQ(refused("a head in slabs").code, ErrorCode::unsupported);
  EXPECT_EQ(refused("a head in slabs").message, "a head in slabs");
}

TEST(Refusals, OfAPrimitiveNameItWhatItComputesAndTheProblem) {
  const LayerProblem problem = ConvProblem{{1, 2, {9, 8, 7}}, 3, {3, 3, 3}, Vec3::cube(1), {1, 1, 1}, {}};
  const Error error = refusal("cpu.pool.max", "plain max poolings", problem);
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_EQ(error.message, "cpu.pool.max computes plain max poolings, not: " + to_string(problem));
}

}  // namespace
}  // namespace znni
