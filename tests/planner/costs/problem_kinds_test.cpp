#include "planner/costs/problem_kinds.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "planner/costs/problem_family.hpp"

namespace znni {
namespace {

std::vector<LayerProblem> some_problems() {
  std::vector<LayerProblem> problems;
  for (const std::int64_t edge : {7, 30, 111}) {
    for (const std::int64_t S : {1, 8}) {
      for (const std::int64_t f : {1, 80}) {
        ConvProblem conv;
        conv.in = {S, f, {edge, edge + 1, edge + 2}};
        conv.f_out = 3;
        conv.k = Vec3{1, 3, 5};
        problems.emplace_back(conv);
        conv.residual = true;
        conv.dilation = Vec3::cube(2);
        problems.emplace_back(conv);
        problems.emplace_back(AcrossChannelsProblem{conv.in});
      }
    }
  }
  return problems;
}

void expect_own_kinds(const ProblemKinds& kinds) {
  for (const LayerProblem& problem : some_problems()) {
    const std::string text = to_string(problem);
    kinds.with_kind_of(problem, [&](const ProblemKinds::Kind& kind) {
      EXPECT_EQ(kind.family, problem_family(text));
      EXPECT_EQ(kind.kernel, problem_class(text));
      return 0;
    });
  }
}

TEST(PlannerProblemKinds, AreThoseOfTheProblemsText) {
  const ProblemKinds kinds;
  for (int time = 0; time < 2; ++time) expect_own_kinds(kinds);
}

TEST(PlannerProblemKinds, AnyThreadMayAsk) {
  const ProblemKinds kinds;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { expect_own_kinds(kinds); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace znni
