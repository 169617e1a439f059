#include <gtest/gtest.h>

#include "tests/oracle/tolerance.hpp"
#include "tests/support/cpu.hpp"

namespace znni::cpu {
extern const Primitive softmax;

namespace {

TEST(Softmax, MatchesTheOracleOnRandomProblems) {
  test::check_random(softmax, 12, [](test::Random& random) {
    return AcrossChannelsProblem{{random.integer(1, 3), random.integer(1, 12), random.vec3(1, 12)}};
  });
}

TEST(Softmax, LogarithmsMatchTheOracleOnRandomProblems) {
  test::check_random(softmax, 12, [](test::Random& random) {
    return AcrossChannelsProblem{{random.integer(1, 3), random.integer(1, 12), random.vec3(1, 12)},
                                 AcrossKind::log_softmax};
  });
}

// Planes of more voxels than one chunk, and a remainder.
TEST(Softmax, MatchesTheOracleOnLargePlanes) {
  const std::unique_ptr<Device> device = test::open_cpu();
  for (const AcrossKind kind : {AcrossKind::softmax, AcrossKind::log_softmax}) {
    test::check_primitive(softmax, AcrossChannelsProblem{{1, 3, {2, 23, 29}}, kind}, *device, 1);
  }
}

TEST(Softmax, DoesNotOverflow) {
  const std::unique_ptr<Device> device = test::open_cpu();
  const AcrossChannelsProblem problem{{1, 2, {1, 1, 2}}};
  const std::vector<Estimate> estimates = softmax.describe(problem, device->spec()).value();
  const std::vector<std::vector<float>> inputs = {{1000.0F, -1000.0F, 0.0F, 1000.0F}};
  const test::Outcome outcome = test::run_once(softmax, problem, estimates[0], {}, inputs, *device);
  EXPECT_EQ(outcome.values, (std::vector<float>{1.0F, 0.0F, 0.0F, 1.0F}));
}

// The softmax itself is 0 here.
TEST(Softmax, LogarithmsStayFinite) {
  const std::unique_ptr<Device> device = test::open_cpu();
  const AcrossChannelsProblem problem{{1, 2, {1, 1, 2}}, AcrossKind::log_softmax};
  const std::vector<Estimate> estimates = softmax.describe(problem, device->spec()).value();
  const std::vector<std::vector<float>> inputs = {{1000.0F, -1000.0F, 0.0F, 1000.0F}};
  const test::Outcome outcome = test::run_once(softmax, problem, estimates[0], {}, inputs, *device);
  EXPECT_EQ(outcome.values, (std::vector<float>{0.0F, -2000.0F, -1000.0F, 0.0F}));
}

TEST(Softmax, RefusesOtherKindsOfLayer) {
  test::expect_refusal(softmax, AcrossChannelsProblem{{1, 2, {3, 3, 3}}, AcrossKind::norm},
                       "cpu.softmax computes softmax and its logarithm, not: channel norm 1x2x3x3x3");
  test::expect_refusal(softmax, ActivationProblem{{1, 2, {3, 3, 3}}, {}}, "cpu.softmax computes softmax");
}

}  // namespace
}  // namespace znni::cpu
