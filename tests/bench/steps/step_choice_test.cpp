#include "tests/bench/steps/step_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/grad/gradients.hpp"
#include "tests/support/cpu.hpp"

namespace znni::bench {
namespace {

using testing::HasSubstr;

const ConvProblem problem{{1, 32, Vec3::cube(24)}, 16, Vec3::cube(5), Vec3::cube(1), Vec3::cube(1), {}};
constexpr std::int64_t plenty = std::int64_t{4} << 30;

class StepChoiceTest : public testing::Test {
 protected:
  const std::array<const Backend*, 1> backends_ = {&cpu::backend()};
  const Result<Catalogue> catalogue_ = Catalogue::make(backends_);
  const std::unique_ptr<Device> device_ = test::open_cpu(2);
  const StepParts parts_ = {*catalogue_, cpu::gradient_registry(), device_->spec()};
};

TEST_F(StepChoiceTest, APlannedStepHasItsThreePartsInTurn) {
  const auto calls = plan_layer_step(problem, parts_, plenty);
  ASSERT_TRUE(calls) << calls.error().message;
  std::set<int> parts;
  int last = 0;
  for (const StepCall& call : *calls) {
    EXPECT_GE(call.node, last);
    last = call.node;
    parts.insert(call.node);
    EXPECT_GT(call.seconds, 0);
  }
  const bool is_at_once = parts.contains(3);
  EXPECT_EQ(parts, is_at_once ? (std::set<int>{0, 3}) : (std::set<int>{0, 1, 2}));
}

// Returns the seconds of the fastest step all of whose tensors have one format; infinity if there is none.
Seconds step_in(Format format, const StepParts& parts) {
  Seconds sum = 0;
  for (int part = 0; part < 3; ++part) {
    const auto ways = calls_of_part(problem, part, parts);
    Seconds best = std::numeric_limits<Seconds>::infinity();
    for (const StepCall& way : *ways) {
      const bool is_alike = way.estimate.in == format && (part == 1 || way.estimate.out == format);
      if (is_alike) best = std::min(best, way.seconds);
    }
    sum += best;
  }
  return sum;
}

// Its neighbours in a net would take and give any format.
TEST_F(StepChoiceTest, TensorsAreInTheFormatsOfTheFastestWays) {
  const auto calls = plan_layer_step(problem, parts_, plenty);
  ASSERT_TRUE(calls) << calls.error().message;
  Seconds planned = 0;
  for (const StepCall& call : *calls) planned += call.seconds;
  int known = 0;
  for (const Layout layout : {Layout::planar, Layout::blocked8, Layout::blocked16}) {
    const Seconds alike = step_in({ElementType::f32, layout}, parts_);
    EXPECT_LE(planned, alike * (1 + 1e-12)) << to_string(Format{ElementType::f32, layout});
    known += alike < std::numeric_limits<Seconds>::infinity() ? 1 : 0;
  }
  EXPECT_GE(known, 2);
}

TEST_F(StepChoiceTest, LessMemoryGivesASlowerStepOrNone) {
  Seconds before = 0;
  const auto seconds_in = [&](std::int64_t memory) {
    const auto calls = plan_layer_step(problem, parts_, memory);
    Seconds sum = 0;
    if (calls) {
      for (const StepCall& call : *calls) sum += call.seconds;
    } else {
      EXPECT_EQ(calls.error().code, ErrorCode::over_budget);
      EXPECT_THAT(calls.error().message, HasSubstr("needs at least"));
    }
    return sum;
  };
  std::int64_t memory = plenty;
  for (Seconds found = seconds_in(memory); found > 0; found = seconds_in(memory)) {
    EXPECT_GE(found, before);
    before = found;
    memory /= 2;
  }
  EXPECT_LT(memory, std::int64_t{64} << 20);
  EXPECT_GT(before, seconds_in(plenty));
}

TEST_F(StepChoiceTest, EveryPartIsOfTheProblem) {
  const StepGraph graph = step_of_layer(problem);
  ASSERT_EQ(graph.works.size() + 1, step_parts.size());
  for (int part = 0; part < 4; ++part) {
    const auto ways = calls_of_part(problem, part, parts_);
    ASSERT_TRUE(ways);
    EXPECT_FALSE(ways->empty());
    for (const StepCall& way : *ways) EXPECT_TRUE(primitive_of(way).starts_with(part == 0 ? "cpu.conv." : "cpu.grad."));
  }
}

}  // namespace
}  // namespace znni::bench
