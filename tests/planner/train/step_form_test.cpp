#include "planner/train/step_form.hpp"

#include <gtest/gtest.h>

#include "planner/train/step_plan.hpp"
#include "tests/planner/train/cpu_parts.hpp"

namespace znni {
namespace {

Convolution conv(std::int64_t f_out, std::int64_t dilation) {
  return {f_out, Vec3::cube(3), Vec3::cube(dilation), {ActivationKind::relu, 0.0F}};
}

Pooling filter(PoolKind kind, std::int64_t dilation) {
  return {kind, Vec3::cube(2), Vec3::cube(1), false, Vec3::cube(dilation)};
}

Network chain(std::vector<Operation> operations) {
  Network net;
  net.name = "net";
  for (Operation& own : operations) {
    const int number = static_cast<int>(net.nodes.size());
    net.nodes.push_back({"node" + std::to_string(number), std::move(own), {number}});
  }
  return net;
}

Network filters(PoolKind kind = PoolKind::max) {
  return chain({conv(16, 1), filter(kind, 1), conv(16, 2), filter(kind, 2), conv(1, 4)});
}

// The same as poolings with strides; the stride of the first is written once.
Network poolings(PoolKind kind = PoolKind::max) {
  Pooling pool = filter(kind, 1);
  pool.stride = Vec3::cube(2);
  return chain({conv(16, 1), pool, conv(16, 1), pool, conv(1, 1)});
}

TEST(StepForm, FiltersBecomePoolingsIfThePatchFits) {
  EXPECT_EQ(step_form(filters(), {21, 25, 29}, false), poolings());
  EXPECT_EQ(step_form(filters(PoolKind::average), Vec3::cube(21), false), poolings(PoolKind::average));
  EXPECT_EQ(step_form(filters(), {21, 21, 23}, false), filters());
}

// The plan of the step refuses patches that do not fit.
TEST(StepForm, SparseStepsNeedPoolings) {
  for (const std::int64_t patch : {18, 19}) EXPECT_EQ(step_form(filters(), Vec3::cube(patch), true), poolings());
}

TEST(StepForm, OtherNetworksAreLeft) {
  for (const Network& net :
       {poolings(), chain({conv(2, 1), conv(2, 3)}), chain({filter(PoolKind::max, 1), conv(2, 1)})}) {
    EXPECT_EQ(step_form(net, Vec3::cube(29), false), net);
  }
}

// Averages of what lies inside have no gradient with a stride.
TEST(StepForm, WhatCouldNotBeTrainedIsNoForm) {
  const Network net = filters(PoolKind::average_inside);
  EXPECT_EQ(pooled_form(net), net);
  EXPECT_EQ(step_form(net, Vec3::cube(29), true), net);
}

TEST(StepForm, AStepOfPoolingsIsPredictedToBeFaster) {
  const StepOptions options{std::int64_t{1} << 30};
  const StepPlan slow = plan_step(filters(), Vec3::cube(37), options, test::cpu_parts(1)).value();
  const StepPlan fast = plan_step(pooled_form(filters()), Vec3::cube(37), options, test::cpu_parts(1)).value();
  EXPECT_LT(fast.seconds, slow.seconds);
  EXPECT_EQ(fast.output, slow.output);
}

}  // namespace
}  // namespace znni
