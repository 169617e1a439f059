#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/layers/ladder.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"

namespace znni {
namespace {

using test::EngineBench;
using test::narrow_bench;
using test::Random;
using testing::HasSubstr;

TEST(EngineOpen, TakesFromTheDeviceWhatThePlanSays) {
  const Network network = test::simple_network(2);
  std::vector<GeometryChoice> ladder;
  for (const std::int64_t step : {2, 1, 0}) ladder.push_back(test::choice_of(network, PoolMode::fragments, step, 2));
  EngineBench made = test::open_bench(network, ladder);
  const std::int64_t planned = made.plan.memory.persistent + made.plan.memory.transient;
  EXPECT_EQ(made.engine->reserved_bytes(), planned);
  EXPECT_EQ(made.device->reserved(MemorySpace::host), planned);
  EXPECT_EQ(made.plan.memory.persistent, 3 * 5 * 24);
  made.engine.reset();
  EXPECT_EQ(made.device->reserved(MemorySpace::host), 0);
}

TEST(EngineOpen, RefusesAPlanThatTakesMoreThanTheDeviceHas) {
  EngineBench made = narrow_bench(1);
  const std::int64_t planned = made.plan.memory.persistent + made.plan.memory.transient;
  const std::unique_ptr<Device> tight = test::host_device(planned - 1);
  const auto refused = Engine::open(made.network, made.weights, made.plan, made.catalogue, *tight);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::over_budget);
  EXPECT_EQ(tight->reserved(MemorySpace::host), 0);
  const std::unique_ptr<Device> enough = test::host_device(planned);
  EXPECT_TRUE(Engine::open(made.network, made.weights, made.plan, made.catalogue, *enough));
}

Error check_error(const EngineBench& made, const Plan& plan) {
  const auto checked = design_ladder(made.network, plan, made.catalogue, made.device->spec(), nullptr);
  const auto opened = Engine::open(made.network, made.weights, plan, made.catalogue, *made.device);
  EXPECT_FALSE(checked);
  EXPECT_FALSE(opened);
  if (checked || opened) return {};
  EXPECT_EQ(checked.error().message, opened.error().message);
  return checked.error();
}

TEST(EngineOpen, RefusesPlansItCannotRun) {
  const EngineBench made = narrow_bench(1);
  EXPECT_TRUE(design_ladder(made.network, made.plan, made.catalogue, made.device->spec(), nullptr));

  Plan elsewhere = made.plan;
  elsewhere.ladder[0].segments[0].place = Place::gpu;
  EXPECT_EQ(check_error(made, elsewhere).code, ErrorCode::unsupported);
  EXPECT_THAT(check_error(made, elsewhere).message, HasSubstr("'gpu'"));

  Plan grouped = made.plan;
  grouped.ladder[0].segments[0].micro_batch.inputs = 2;
  EXPECT_EQ(check_error(made, grouped).code, ErrorCode::unsupported);

  Plan divided = made.plan;
  divided.ladder[0].segments[0].steps[1].division = {{1, 1, 1, 4}};
  EXPECT_EQ(check_error(made, divided).code, ErrorCode::unsupported);

  Plan other_numbers = made.plan;
  other_numbers.memory.transient += 64;
  EXPECT_EQ(check_error(made, other_numbers).code, ErrorCode::invalid_argument);
  EXPECT_THAT(check_error(made, other_numbers).message, HasSubstr(std::to_string(made.plan.memory.transient)));

  Plan unknown = made.plan;
  unknown.ladder[0].segments[0].steps[0].primitive = "test.none";
  EXPECT_THAT(check_error(made, unknown).message, HasSubstr("test.none"));

  Plan empty = made.plan;
  empty.ladder.clear();
  EXPECT_THAT(check_error(made, empty).message, HasSubstr("no rung"));
}

TEST(EngineOpen, SegmentsOfOnePlaceMaySplitTheNetAnywhere) {
  EngineBench made = narrow_bench(1);
  Plan split = made.plan;
  Segment& whole = split.ladder[0].segments[0];
  Segment tail{1, whole.last, Place::cpu, {}, {whole.steps.begin() + 1, whole.steps.end()}};
  whole.last = 0;
  whole.steps.resize(1);
  split.ladder[0].segments.push_back(tail);
  auto engine = Engine::open(made.network, made.weights, split, made.catalogue, *made.device);
  ASSERT_TRUE(engine) << engine.error().message;
  made.engine = std::move(*engine);
  Random random(9);
  test::expect_exact(made, test::random_volume(1, {10, 12, 11}, ElementType::f32, random));
}

}  // namespace
}  // namespace znni
