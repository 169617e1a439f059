#include "planner/search/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/planner/drawn_plan.hpp"

namespace znni {
namespace {

using test::drawn_plan;

TEST(PlannerSearch, StopsWithTheBestSoFar) {
  SearchOptions options;
  options.memory_limit = 1 << 30;
  options.max_extent = 40;
  int polls = 0;
  options.stop = [&] { return ++polls > 20000; };
  EXPECT_TRUE(drawn_plan(drawn::chain(), options));
  options.stop = [] { return true; };
  const Result<Plan> stopped = drawn_plan(drawn::chain(), options);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
}

// Convolutions that count how often they are asked: by searches of these tests, on one thread.
int described = 0;
Result<std::vector<Estimate>> describe_and_count(const LayerProblem& problem, const DeviceSpec& spec) {
  ++described;
  return drawn::describe_conv(problem, spec);
}

Network deep_chain(std::size_t convolutions) {
  Network network;
  network.name = "deep";
  for (std::size_t i = 0; i < convolutions; ++i) {
    network.nodes.push_back({"conv" + std::to_string(i), drawn::convolution(4, Vec3::cube(2)), {static_cast<int>(i)}});
  }
  return network;
}

// A stop comes after any number of questions: while candidates are made, laid out, described, combined or scheduled.
TEST(PlannerSearch, DescribesOneLayerBetweenTwoQuestionsAndNoneAfterAStop) {
  static constexpr Primitive counted = {"drawn.conv.a", 1, DeviceKind::cpu, describe_and_count, drawn::never_prepared};
  static constexpr std::array<const Primitive*, 2> primitives = {&counted, &drawn::reorder};
  static constexpr Backend backend = {"drawn", drawn::probe, drawn::open, primitives};
  const Catalogue catalogue = Catalogue::make(std::array<const Backend*, 1>{&backend}).value();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  SearchOptions options;
  options.memory_limit = 1 << 24;
  options.max_extent = 48;
  int asked = 0;
  int at_stop = 0;
  int max_between = 0;
  for (int most = 1; most < 20'000; most += 1 + most / 3) {
    SCOPED_TRACE("stopped at question " + std::to_string(most));
    asked = 0;
    at_stop = described;
    options.stop = [&] {
      max_between = std::max(max_between, described - at_stop);
      at_stop = described;
      return ++asked >= most;
    };
    const Result<Plan> plan = search(deep_chain(30), DeviceSpec{}, catalogue, *costs, options);
    EXPECT_LE(std::max(max_between, described - at_stop), 2);
    EXPECT_TRUE(plan || plan.error().code == ErrorCode::cancelled);
  }
}

}  // namespace
}  // namespace znni
