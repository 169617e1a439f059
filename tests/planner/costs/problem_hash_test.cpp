#include "planner/costs/problem_hash.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace znni {
namespace {

constexpr Shape5 shape = {2, 3, {4, 5, 6}};
constexpr Vec3 twos = Vec3::cube(2);

// Returns problems, each of which differs from the others in one thing.
std::vector<LayerProblem> problems() {
  const ConvProblem conv{shape, 8, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1), {ActivationKind::elu, 0.5F}};
  const PoolProblem pool{shape, twos, twos};
  std::vector<LayerProblem> all = {conv, pool, AcrossChannelsProblem{shape}, ScaleShiftProblem{shape},
                                   AddProblem{shape, 2, {}}};
  for (const AcrossKind kind : {AcrossKind::log_softmax, AcrossKind::arg_max, AcrossKind::norm, AcrossKind::unit}) {
    all.emplace_back(AcrossChannelsProblem{shape, kind});
  }
  all.emplace_back(AcrossChannelsProblem{shape, AcrossKind::norm, 0.5F});
  all.emplace_back(NormProblem{shape, 1});
  all.emplace_back(NormProblem{shape, 3});
  all.emplace_back(NormProblem{shape, 3, 1e-3F});
  all.emplace_back(NormProblem{shape, 3, 1e-5F, {ActivationKind::relu}});
  all.emplace_back(NormProblem{shape, 3, 1e-5F, {ActivationKind::relu}, NormKind::response});
  const auto another_conv = [&](auto change) {
    ConvProblem other = conv;
    change(other);
    all.emplace_back(other);
  };
  another_conv([](ConvProblem& p) { p.in.n = {4, 6, 5}; });
  another_conv([](ConvProblem& p) { p.in.S = 3; });
  another_conv([](ConvProblem& p) { p.f_out = 9; });
  another_conv([](ConvProblem& p) { p.k.x = 1; });
  another_conv([](ConvProblem& p) { p.dilation.y = 2; });
  another_conv([](ConvProblem& p) { p.stride = {1, 2, 1}; });
  another_conv([](ConvProblem& p) { p.stride = {1, 1, 2}; });
  another_conv([](ConvProblem& p) { p.groups = 4; });
  another_conv([](ConvProblem& p) { p.groups = 2; });
  another_conv([](ConvProblem& p) { p.activation.alpha = 0.25F; });
  another_conv([](ConvProblem& p) { p.residual = true; });
  another_conv([](ConvProblem& p) { p.local = true; });
  another_conv([](ConvProblem& p) { p.before.in = 1; });
  another_conv([](ConvProblem& p) { p.before.out = 1; });
  const auto another_pool = [&](auto change) {
    PoolProblem other = pool;
    change(other);
    all.emplace_back(other);
  };
  another_pool([](PoolProblem& p) { p.kind = PoolKind::average; });
  another_pool([](PoolProblem& p) { p.kind = PoolKind::average_inside; });
  another_pool([](PoolProblem& p) { p.dilation.x = 2; });
  another_pool([](PoolProblem& p) { p.mode = PoolMode::fragments; });
  another_pool([](PoolProblem& p) { p.fragments = twos; });
  another_pool([](PoolProblem& p) { p.groups = twos; });
  all.emplace_back(ActivationProblem{shape, {ActivationKind::relu}});
  all.emplace_back(ActivationProblem{shape, {ActivationKind::tanh}});
  all.emplace_back(AddProblem{shape, 3, {}});
  all.emplace_back(AttentionProblem{shape, 6, 3});
  all.emplace_back(AttentionProblem{shape, 3, 3});
  all.emplace_back(AttentionProblem{shape, 6, 1});
  all.emplace_back(AttentionProblem{shape, 6, 3, 0.5F});
  all.emplace_back(AddVolumeProblem{shape, shape.n});
  all.emplace_back(GlobalPoolProblem{shape, PoolKind::max});
  all.emplace_back(GlobalPoolProblem{shape, PoolKind::average});
  all.emplace_back(PReluProblem{shape});
  all.emplace_back(MultiplyProblem{shape, 1});
  all.emplace_back(MultiplyProblem{shape, shape.f});
  all.emplace_back(DivideProblem{shape, 1});
  all.emplace_back(DivideProblem{shape, shape.f});
  const StackProblem stack{shape, {{StackOperation::pool, PoolKind::max, twos}, {StackOperation::scale_shift}}};
  const auto another_stack = [&](auto change) {
    StackProblem other = stack;
    change(other);
    all.emplace_back(other);
  };
  all.emplace_back(stack);
  another_stack([](StackProblem& p) { p.closed.y = 1; });
  another_stack([](StackProblem& p) { p.stages.pop_back(); });
  another_stack([](StackProblem& p) { p.stages.front().kind = PoolKind::average; });
  another_stack([](StackProblem& p) { p.stages.front().before.z = 1; });
  another_stack([](StackProblem& p) { p.stages.front().behind.z = 1; });
  another_stack([](StackProblem& p) { p.stages.front().window.z = 1; });
  another_stack([](StackProblem& p) { p.stages.back() = {StackOperation::activation}; });
  all.emplace_back(ConcatProblem{{shape, shape}});
  all.emplace_back(ConcatProblem{{shape}});
  all.emplace_back(CropProblem{shape, {1, 1, 1}, {}});
  all.emplace_back(CropProblem{shape, {}, {1, 1, 1}});
  all.emplace_back(UpsampleProblem{shape, twos, UpsampleKind::nearest});
  all.emplace_back(UpsampleProblem{shape, twos, UpsampleKind::shuffle});
  all.emplace_back(UpsampleProblem{shape, twos, UpsampleKind::linear});
  all.emplace_back(UpsampleProblem{shape, {1, 2, 2}, UpsampleKind::nearest});
  all.emplace_back(ReorderProblem{shape, {}, {ElementType::f32, Layout::blocked8}});
  all.emplace_back(ReorderProblem{shape, {ElementType::f32, Layout::blocked8}, {}});
  PoolProblem behind = pool;
  all.emplace_back(ConvPoolProblem{conv, behind});
  behind.mode = PoolMode::fragments;
  all.emplace_back(ConvPoolProblem{conv, behind});
  return all;
}

TEST(PlannerProblemHash, EqualProblemsAgreeAndOthersDiffer) {
  const ProblemHash hash;
  const std::vector<LayerProblem> all = problems();
  const std::vector<LayerProblem> again = problems();
  std::set<std::size_t> hashes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(hash(all[i]), hash(again[i]));
    hashes.insert(hash(all[i]));
  }
  EXPECT_EQ(hashes.size(), all.size());
}

// Problems that were hashed before there were strides keep their hash.
TEST(PlannerProblemHash, AStrideOfOneIsNotMixedIn) {
  const ConvProblem conv{shape, 8, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1), {ActivationKind::elu, 0.5F}};
  EXPECT_EQ(ProblemHash()(conv), 10809883142983414540U);
}

TEST(PlannerProblemHash, ZerosOfBothSignsAreEqual) {
  const LayerProblem plus = ActivationProblem{shape, {ActivationKind::elu, 0.0F}};
  const LayerProblem minus = ActivationProblem{shape, {ActivationKind::elu, -0.0F}};
  ASSERT_EQ(plus, minus);
  EXPECT_EQ(ProblemHash()(plus), ProblemHash()(minus));
}

// A search looks at thousands of extents that are near each other.
TEST(PlannerProblemHash, NeighbouringExtentsSpread) {
  std::set<std::size_t> low;
  for (std::int64_t n = 0; n < 1000; ++n) {
    low.insert(ProblemHash()(AcrossChannelsProblem{{1, 80, {64 + n % 10, 64 + n / 10 % 10, 64 + n / 100}}}) % 1024);
  }
  EXPECT_GT(low.size(), 500U);  // 1000 at random in 1024 places take about 637 of them
}

}  // namespace
}  // namespace znni
