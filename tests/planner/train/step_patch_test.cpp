#include "planner/train/step_patch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/network/padding.hpp"
#include "tests/planner/train/cpu_parts.hpp"

namespace znni {
namespace {

using testing::HasSubstr;

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

Convolution conv_of(std::int64_t f_out, Vec3 k) {
  Convolution conv;
  conv.f_out = f_out;
  conv.k = k;
  return conv;
}

Network three_layers() {
  Network net;
  net.name = "three";
  net.nodes = {{"conv1", conv_of(5, Vec3::cube(3)), {0}},
               {"pool", Pooling{PoolKind::max, Vec3::cube(2), Vec3::cube(2)}, {1}},
               {"conv2", conv_of(2, Vec3::cube(3)), {2}}};
  return net;
}

double rate_of(const StepPlan& plan) { return static_cast<double>(voxels(plan.output.n)) / plan.seconds; }

// Every legal cube is planned; those that choose_step_patch() leaves out lie within a sixteenth of one that it takes.
TEST(StepPatch, NoSmallerCubeIsFaster) {
  const Network net = three_layers();
  for (const bool sparse : {false, true}) {
    const StepOptions options{24 * mebibyte, sparse};
    const StepParts parts = test::cpu_parts(2);
    const StepPatch chosen = choose_step_patch(net, options, parts).value();
    EXPECT_DOUBLE_EQ(chosen.voxels_per_second, rate_of(chosen.plan));
    EXPECT_LE(chosen.plan.bytes.total(), options.mem);
    int fitting = 0;
    for (std::int64_t edge = 8; edge < 17; ++edge) {
      const Result<StepPlan> plan = plan_step(net, Vec3::cube(edge), options, parts);
      if (!plan) continue;
      ++fitting;
      EXPECT_LE(rate_of(*plan), chosen.voxels_per_second) << edge;
    }
    EXPECT_GT(fitting, 0);
    EXPECT_GE(chosen.planned, fitting);
  }
}

TEST(StepPatch, MoreMemoryNeverPredictsFewerVoxelsInASecond) {
  double before = 0;
  bool grew = false;
  for (std::int64_t mem = 1; mem <= 64; mem *= 2) {
    const StepPatch chosen = choose_step_patch(three_layers(), {mem * mebibyte}, test::cpu_parts(1)).value();
    EXPECT_GE(chosen.voxels_per_second, before) << mem;
    grew = grew || (before > 0 && chosen.voxels_per_second > before);
    before = chosen.voxels_per_second;
  }
  EXPECT_TRUE(grew);
}

TEST(StepPatch, NetworksOfPlanesGetOnePlane) {
  Network net;
  net.spatial_rank = 2;
  net.nodes = {{"conv", conv_of(2, {1, 3, 3}), {0}}};
  const StepPatch chosen = choose_step_patch(net, {8 * mebibyte}, test::cpu_parts(1)).value();
  EXPECT_EQ(chosen.plan.input.n.z, 1);
  EXPECT_GT(chosen.plan.input.n.x, 3);
}

TEST(StepPatch, PaddingIsNoPartOfThePatch) {
  Network network;
  Convolution conv;
  conv.k = Vec3::cube(3);
  network.nodes = {{"top", conv, {0}}, {"pool", Pooling{}, {1}}, {"up", Upsample{}, {2}}, {"sum", Add{}, {1, 3}}};
  const Border one{Vec3::cube(1), Vec3::cube(1)};
  const Network padded = without_padding({network, {}}, {one, {}, {}, {}}).value().network;
  const StepPatch chosen = choose_step_patch(padded, {8 * mebibyte}, test::cpu_parts(1)).value();
  EXPECT_EQ(chosen.plan.output.n, chosen.plan.input.n);
  EXPECT_EQ(chosen.plan.input.n.x % 2, 0);
}

TEST(StepPatch, TooLittleMemoryIsRefusedWithBothNumbers) {
  const Result<StepPatch> refused = choose_step_patch(three_layers(), {1000}, test::cpu_parts(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::over_budget);
  EXPECT_THAT(refused.error().message, HasSubstr("a step of patch 9x9x9 needs at least "));
}

TEST(StepPatch, IsToldInALine) {
  const StepPatch chosen = choose_step_patch(three_layers(), {8 * mebibyte}, test::cpu_parts(1)).value();
  EXPECT_THAT(to_string(chosen), HasSubstr("patch: " + to_string(chosen.plan.input.n) + ", of "));
}

}  // namespace
}  // namespace znni
