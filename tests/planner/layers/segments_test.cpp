#include "planner/layers/segments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "planner/network/swap_axes.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"

namespace znni {
namespace {

using test::Random;
using testing::HasSubstr;

class SegmentsTest : public testing::Test {
 protected:
  [[nodiscard]] Result<RungSegments> apart(const Network& network, const Rung& rung) const {
    return take_apart(network, rung, catalogue_, specs_);
  }
  [[nodiscard]] Rung split(const Network& network, int theta, std::int64_t micro_batch = 0) const {
    const GeometryChoice choice = test::choice_of(network, PoolMode::fragments, 1);
    return test::split_rung(network, choice, theta, micro_batch, specs_.cpu, specs_.gpu).value();
  }

  Catalogue catalogue_ = test::split_catalogue();
  PlaceSpecs specs_{DeviceSpec{}, test::host_sim_spec()};
  Network network_ = test::simple_network(2);  // conv pool conv pool conv
};

TEST_F(SegmentsTest, ShapesMeetAtTheCut) {
  for (int theta = 1; theta < 5; ++theta) {
    const Result<RungSegments> parts = apart(network_, split(network_, theta));
    ASSERT_TRUE(parts) << parts.error().message;
    ASSERT_EQ(parts->segments.size(), 2U);
    const SegmentDesign& head = parts->segments[0];
    const SegmentDesign& tail = parts->segments[1];
    const auto cut = static_cast<std::size_t>(theta);
    EXPECT_EQ(head.whole_output(), parts->geometry.values[cut]);
    EXPECT_EQ(tail.whole_input(), parts->geometry.values[cut]);
    EXPECT_EQ(tail.whole_output(), parts->geometry.values.back());
    EXPECT_EQ(head.fragments() * tail.fragments(), Vec3::cube(4));
    EXPECT_EQ(peak(tail.schedule.memory, MemorySpace::host), 0);
    EXPECT_EQ(peak(head.schedule.memory, MemorySpace::device), 0);
  }
}

TEST_F(SegmentsTest, MicroBatchesNeedLessMemory) {
  const Result<RungSegments> all = apart(network_, split(network_, 2));
  const Result<RungSegments> one = apart(network_, split(network_, 2, 1));
  ASSERT_TRUE(all && one);
  EXPECT_EQ(all->segments[1].micro_batches(), 1);
  EXPECT_EQ(one->segments[1].micro_batches(), 8);
  EXPECT_EQ(one->segments[1].whole_output(), all->segments[1].whole_output());
  EXPECT_LT(3 * peak(one->segments[1].schedule.memory, MemorySpace::device),
            peak(all->segments[1].schedule.memory, MemorySpace::device));
}

TEST_F(SegmentsTest, EveryOutputHasAPlaceOfItsOwnAndAllAreTaken) {
  Random random(3);
  for (int i = 0; i < test::case_count(20); ++i) {
    const Network network = test::random_network(random, 16);
    const GeometryChoice choice = test::split_choice(network, random, random.integer(1, 2));
    for (const int theta : test::legal_cuts(network)) {
      const Result<Rung> rung = test::split_rung(network, choice, theta, 1, specs_.cpu, specs_.gpu);
      ASSERT_TRUE(rung) << rung.error().message;
      const Result<RungSegments> parts = apart(network, *rung);
      ASSERT_TRUE(parts) << parts.error().message;
      const SegmentDesign& tail = parts->segments.back();
      std::set<std::int64_t> places;
      for (std::int64_t micro_batch = 0; micro_batch < tail.micro_batches(); ++micro_batch) {
        for (std::int64_t s = 0; s < tail.micro_batch_output().S; ++s)
          places.insert(place_of_output(tail, micro_batch, s));
      }
      EXPECT_EQ(static_cast<std::int64_t>(places.size()), parts->geometry.values.back().S);
      EXPECT_EQ(*places.begin(), 0);
      EXPECT_EQ(*places.rbegin(), parts->geometry.values.back().S - 1);
    }
  }
}

TEST_F(SegmentsTest, RefusesInWords) {
  Rung rung = split(network_, 2);
  rung.segments[1].first = 3;
  EXPECT_THAT(apart(network_, rung).error().message, HasSubstr("segment of nodes 3 to 4: node 2 comes next"));
  rung = split(network_, 2);
  rung.segments.pop_back();
  EXPECT_THAT(apart(network_, rung).error().message, HasSubstr("end before node 2 of 5"));
  rung = split(network_, 2);
  rung.segments[1].micro_batch.inputs = 3;
  EXPECT_THAT(apart(network_, rung).error().message, HasSubstr("micro-batches of 3 do not divide its 8 inputs"));
  rung = split(network_, 2);
  rung.segments[1].place = Place::cpu;
  EXPECT_THAT(apart(network_, rung).error().message, HasSubstr("does not run on 'cpu'"));
  rung = split(network_, 2);
  rung.segments[1].place = Place::gpu_host_ram;
  EXPECT_THAT(apart(network_, rung).error().message,
              HasSubstr("sim.conv does not run on 'gpu_host_ram' where its layer is not divided"));
  rung = split(network_, 2);
  rung.segments[1].steps[0].division = {{1, 0, 0, 0}};
  EXPECT_THAT(apart(network_, rung).error().message, HasSubstr("node 2 is divided; only segments on 'gpu_host_ram'"));
  rung = split(network_, 2);
  rung.segments[1].steps[0].node = 2000000000;
  rung.segments[1].steps[1].variant = {{"joined", 1}};
  EXPECT_THAT(apart(network_, rung).error().message, HasSubstr("nodes 2 to 4: a step is of node 2000000000"));
  rung.segments[1].steps[0].node = -2;
  EXPECT_THAT(apart(network_, rung).error().message, HasSubstr("nodes 2 to 4: a step is of node -2"));
  rung = split(network_, 2);
  rung.segments[1].last = 2000000000;
  EXPECT_THAT(apart(network_, rung).error().message, HasSubstr("nodes 2 to 2000000000: there are 5 nodes"));
  rung = split(network_, 2);
  rung.geometry.stem_slab = 1;
  EXPECT_THAT(apart(network_, rung).error().message, HasSubstr("stem in slabs"));
}

// Channels last in the tail: what crosses the cut is planar, and of a stream the reordered tensor keeps its planes.
TEST_F(SegmentsTest, OnAGpuTheInputMayBeReorderedFirst) {
  GeometryChoice choice = test::choice_of(network_, PoolMode::fragments, 0);
  choice.pass_input.z = 8;
  choice.streamed = true;
  Rung rung = test::split_rung(network_, choice, 2, 2, specs_.cpu, specs_.gpu).value();
  std::vector<Step>& steps = rung.segments[1].steps;
  for (Step& step : steps) step.in = step.native = step.out = last_f32;
  steps.back().reorder = "sim.reorder";
  steps.back().out = Format{};
  Step reorder;
  reorder.node = -1;
  reorder.reorder = "sim.reorder";
  reorder.out = last_f32;
  steps.insert(steps.begin(), reorder);
  const Result<RungSegments> parts = apart(network_, rung);
  ASSERT_TRUE(parts) << parts.error().message;
  const SegmentDesign& tail = parts->segments[1];
  EXPECT_TRUE(tail.reorders_input());
  EXPECT_EQ(tail.micro_batch_tensor(), tail.micro_batch_input());
  EXPECT_EQ(tail.schedule.calls.size(), 5U);
  EXPECT_EQ(tail.schedule.tensors[1].shape.n.z, tail.micro_batch_input().n.z + 2);
  EXPECT_FALSE(parts->segments[0].reorders_input());
  rung.segments[1].steps[0].node = 1;  // that before the segment's first
  EXPECT_THAT(apart(network_, rung).error().message, HasSubstr("nodes 2 to 4: a step is of node 1"));
  rung.segments[1].steps[0].node = -1;
  rung.segments[0].steps.insert(rung.segments[0].steps.begin(), reorder);
  EXPECT_THAT(apart(network_, rung).error().message, HasSubstr("its input is reordered; it must begin planar"));
  rung.segments[0].steps.erase(rung.segments[0].steps.begin());
  rung.segments[0].steps.back().reorder = "sim.reorder";
  rung.segments[0].steps.back().native = last_f32;
  EXPECT_THAT(apart(network_, rung).error().message, HasSubstr("sim.reorder does not run on 'cpu'"));
}

// Layers through host RAM reorder parts alone, on the GPU: a call each, between planar tensors.
TEST_F(SegmentsTest, PartsOfADividedLayerMayBeReordered) {
  Random random(3);
  const GeometryChoice choice = test::choice_of(network_, PoolMode::fragments, 1);
  Rung rung = test::rung_of_three(network_, choice, 0, 2, specs_.cpu, specs_.gpu, random, catalogue_).value();
  Step& step = rung.segments[0].steps[0];
  step.in = step.native = last_f32;
  step.reorder = "sim.reorder";
  const auto message = [&] { return apart(network_, rung).error().message; };
  const Result<RungSegments> parts = apart(network_, rung);
  ASSERT_TRUE(parts) << parts.error().message;
  const Schedule& schedule = parts->segments[0].schedule;
  ASSERT_EQ(schedule.calls.size(), 2U);
  EXPECT_EQ(schedule.calls[0].reorder, catalogue_.find("sim.reorder"));
  EXPECT_FALSE(schedule.calls[0].is_reorder);
  EXPECT_EQ(schedule.tensors[static_cast<std::size_t>(schedule.calls[0].output)].format, planar_f32);
  step.out = last_f32;
  EXPECT_THAT(message(), HasSubstr("left in f32:channels_last, and the reorder is sim.reorder"));
  step.out = planar_f32;
  step.reorder = "sim.other";
  EXPECT_THAT(message(), HasSubstr("unknown primitive sim.other"));
  step.reorder = "";
  EXPECT_THAT(message(), HasSubstr("and the reorder is missing"));
  step.reorder = rung.segments[0].steps[1].primitive;  // the pooling's, of the CPU
  EXPECT_THAT(message(), HasSubstr("does not run on 'gpu_host_ram'"));
}

TEST_F(SegmentsTest, OfAStreamAlongYEachSegmentHasItsOwnKernelsSwapped) {
  GeometryChoice choice = test::choice_of(network_, PoolMode::fragments, 0);
  choice.pass_input.z = 8;
  choice.streamed = true;
  choice.axis = 1;
  const Rung rung = test::split_rung(network_, choice, 2, 2, specs_.cpu, specs_.gpu).value();
  const Result<RungSegments> parts = apart(network_, rung);
  ASSERT_TRUE(parts) << parts.error().message;
  for (const SegmentDesign& segment : parts->segments) {
    EXPECT_EQ(segment.geometry.choice.axis, 1);
    ASSERT_GE(segment.schedule.kernels, 0);
    const Buffer& kernels = segment.schedule.memory[static_cast<std::size_t>(segment.schedule.kernels)];
    EXPECT_EQ(kernels.bytes, kernel_bytes(segment.network));
    EXPECT_EQ(kernels.space, MemorySpace::host);
    EXPECT_TRUE(kernels.lifetime.persistent);
  }
}

// conv pool | conv pool conv: the planes that the first node behind a cut reads again are kept behind it.
TEST_F(SegmentsTest, OfAStreamEachSegmentKeepsWhatItsOwnNodesReadInItsMemory) {
  GeometryChoice choice = test::choice_of(network_, PoolMode::fragments, 0);
  choice.pass_input.z = 8;
  choice.streamed = true;
  const Rung rung = test::split_rung(network_, choice, 2, 2, specs_.cpu, specs_.gpu).value();
  const Result<RungSegments> parts = apart(network_, rung);
  ASSERT_TRUE(parts) << parts.error().message;
  const SegmentDesign& head = parts->segments[0];
  const SegmentDesign& tail = parts->segments[1];
  EXPECT_EQ(head.whole_output().n.z, 4);
  EXPECT_EQ(tail.micro_batch_input().n.z, 4);
  EXPECT_EQ(tail.micro_batch_tensor().n.z, 4 + 2);
  EXPECT_EQ(tail.whole_tensor().S, 8);
  EXPECT_EQ(history_bytes(head.schedule) + history_bytes(tail.schedule), [&] {
    std::int64_t sum = 0;
    for (int value = 0; value <= 5; ++value) sum += history_bytes(parts->geometry, value, {});
    return sum;
  }());
  for (const SegmentDesign* segment : {&head, &tail}) {
    const bool on_gpu = segment->place == Place::gpu;
    for (const ScheduledHistory& history : segment->schedule.histories) {
      const Buffer& buffer = segment->schedule.memory[static_cast<std::size_t>(history.buffer)];
      EXPECT_EQ(buffer.space, on_gpu ? MemorySpace::device : MemorySpace::host) << buffer.name;
      EXPECT_EQ(history.runs, segment->micro_batches()) << buffer.name;
    }
  }
}

// Divided convolutions and, on the CPU, the pooling: tensors in host memory, parts in pinned and device memory.
TEST_F(SegmentsTest, LayersThroughHostRamUseEverySpace) {
  Random random(1);
  const GeometryChoice choice = test::choice_of(network_, PoolMode::fragments, 1);
  const Rung rung = test::rung_of_three(network_, choice, 0, 5, specs_.cpu, specs_.gpu, random).value();
  const Result<RungSegments> parts = apart(network_, rung);
  ASSERT_TRUE(parts) << parts.error().message;
  const Schedule& schedule = parts->segments.front().schedule;
  for (const MemorySpace space : {MemorySpace::host, MemorySpace::pinned, MemorySpace::device}) {
    EXPECT_GT(peak(schedule.memory, space), 0);
  }
  EXPECT_EQ(schedule.calls.size(), 5U);
  EXPECT_EQ(schedule.calls[0].primitive->name, "sim.conv");
  EXPECT_EQ(schedule.calls[1].primitive->name, "test.oracle");
}

TEST_F(SegmentsTest, RefusesACutThroughABranch) {
  const Network crossed = test::network_of_crossed_poolings();
  EXPECT_EQ(test::legal_cuts(crossed), (std::vector<int>{0, 1, 6}));
  EXPECT_THAT(apart(crossed, split(crossed, 2)).error().message, HasSubstr("cannot be cut before it"));
}

}  // namespace
}  // namespace znni
