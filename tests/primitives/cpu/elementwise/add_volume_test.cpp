#include <gtest/gtest.h>

#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive add_volume;

namespace {

TEST(AddVolume, MatchesTheOracleOnRandomProblems) {
  test::check_random(add_volume, 20, [](test::Random& random) { return test::random_add_volume(random); });
}

TEST(AddVolume, MatchesTheOracleWithManyWorkers) {
  const std::unique_ptr<Device> device = test::open_cpu(9);
  for (const Shape5& shape : {Shape5{1, 1, {1, 1, 1}}, Shape5{3, 5, {4, 3, 17}}}) {
    test::check_primitive(add_volume, AddVolumeProblem{shape, shape.n}, *device, 1);
  }
}

TEST(AddVolume, RefusesOtherKindsOfLayer) {
  test::expect_refusal(add_volume, ScaleShiftProblem{{1, 2, {3, 3, 3}}},
                       "cpu.add_volume computes sums with a constant volume");
}

}  // namespace
}  // namespace znni::cpu
