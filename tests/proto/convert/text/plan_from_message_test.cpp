#include "proto/convert/text/plan_from_message.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace znni {
namespace {

using testing::HasSubstr;

text::Plan min_plan() {
  text::Plan plan;
  plan.mutable_key()->add_node("conv1");
  text::Plan::Rung* rung = plan.add_rung();
  for (int i = 0; i < 3; ++i) rung->add_pass_input(8);
  text::Plan::Step* step = rung->add_segment()->add_step();
  step->set_primitive("cpu.conv.direct");
  step->set_in("f32:planar");
  step->set_native("f32:planar");
  step->set_out("f32:planar");
  return plan;
}

TEST(PlanFromMessage, DefaultsAreTheDomains) {
  const Result<Plan> plan = plan_from_message(min_plan());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->ladder[0].geometry, (GeometryChoice{Vec3::cube(8), 1, {}}));
  EXPECT_EQ(plan->predicted, Prediction{});
  EXPECT_EQ(plan->ladder[0].segments[0].micro_batch, MicroBatch{});
  EXPECT_TRUE(plan->ladder[0].segments[0].steps[0].division.empty());
}

// Returns the error of a plan with one change.
std::string refusal_after(const std::function<void(text::Plan&)>& change) {
  text::Plan message = min_plan();
  change(message);
  const Result<Plan> plan = plan_from_message(message);
  return plan ? "" : plan.error().message;
}

TEST(PlanFromMessage, Errors) {
  const auto step = [](text::Plan& plan) { return plan.mutable_rung(0)->mutable_segment(0)->mutable_step(0); };
  EXPECT_THAT(refusal_after([](auto& plan) { plan.clear_key(); }), HasSubstr("not a plan: key.node is missing"));
  EXPECT_THAT(refusal_after([](auto& plan) { plan.mutable_key()->add_volume(8); }),
              HasSubstr("key.volume has 1 values; 3 are right"));
  EXPECT_THAT(refusal_after([](auto& plan) {
                for (const int extent : {8, 8, 0}) plan.mutable_key()->add_volume(extent);
              }),
              HasSubstr("key.volume holds 0; 1 or more is right"));
  EXPECT_THAT(refusal_after([](auto& plan) { plan.clear_rung(); }), HasSubstr("not a plan: it has no rung"));
  EXPECT_THAT(refusal_after([](auto& plan) { plan.mutable_rung(0)->add_pass_input(8); }),
              HasSubstr("rung 0: pass_input has 4 values; 3 are right"));
  EXPECT_THAT(refusal_after([](auto& plan) { plan.mutable_rung(0)->set_pass_input(1, 0); }),
              HasSubstr("rung 0: pass_input holds 0; 1 or more is right"));
  EXPECT_THAT(refusal_after([](auto& plan) { plan.mutable_rung(0)->set_s(0); }), HasSubstr("rung 0: S is 0"));
  EXPECT_THAT(refusal_after([](auto& plan) { plan.mutable_rung(0)->set_axis(3); }),
              HasSubstr("rung 0: axis is 3; 0 to 2 is right"));
  EXPECT_THAT(refusal_after([](auto& plan) { plan.mutable_rung(0)->set_stem_slab(-1); }),
              HasSubstr("rung 0: stem_slab is -1; 0 or more is right"));
  const auto groups = [](text::Plan& plan) {
    plan.mutable_rung(0)->add_modes(text::Plan::fragments);
    text::Plan::Groups* added = plan.mutable_rung(0)->add_groups();
    for (int i = 0; i < 3; ++i) added->add_count(2);
    return added;
  };
  EXPECT_EQ(refusal_after([&](auto& plan) { groups(plan); }), "");
  EXPECT_THAT(refusal_after([&](auto& plan) { groups(plan)->set_pooling(1); }),
              HasSubstr("rung 0: groups of pooling 1; modes names 1"));
  EXPECT_THAT(refusal_after([&](auto& plan) { groups(plan)->add_count(2); }),
              HasSubstr("groups.count has 4 values; 3 are right"));
  EXPECT_THAT(refusal_after([&](auto& plan) { groups(plan)->set_count(1, 0); }),
              HasSubstr("groups.count holds 0; 1 or more is right"));
  EXPECT_THAT(refusal_after([](auto& plan) { plan.mutable_rung(0)->clear_segment(); }), HasSubstr("has no segment"));
  EXPECT_THAT(refusal_after([](auto& plan) { plan.mutable_memory()->set_transient(-1); }),
              HasSubstr("memory.transient is -1; 0 or more is right"));
  EXPECT_THAT(refusal_after([](auto& plan) { plan.mutable_rung(0)->mutable_memory()->set_weights(-1); }),
              HasSubstr("rung 0: memory.weights is -1"));
  EXPECT_THAT(refusal_after([&](auto& plan) { step(plan)->set_out("f33"); }),
              HasSubstr("rung 0: step of node 0: out is 'f33'; known are"));
  EXPECT_THAT(refusal_after([&](auto& plan) { step(plan)->clear_native(); }), HasSubstr("native is ''"));
  EXPECT_THAT(refusal_after([&](auto& plan) { step(plan)->clear_primitive(); }), HasSubstr("primitive is missing"));
  EXPECT_THAT(refusal_after([&](auto& plan) { step(plan)->mutable_division()->set_slab(-2); }),
              HasSubstr("division is -2"));
  EXPECT_THAT(
      refusal_after([](auto& plan) { plan.mutable_rung(0)->mutable_segment(0)->mutable_group()->set_inputs(-2); }),
      HasSubstr("group is -2"));
  EXPECT_THAT(refusal_after(
                  [](auto& plan) { plan.mutable_rung(0)->mutable_segment(0)->mutable_micro_batch()->set_inputs(-3); }),
              HasSubstr("micro_batch is -3"));
}

}  // namespace
}  // namespace znni
