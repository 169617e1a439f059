#include "planner/layers/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "planner/geometry/streams.hpp"
#include "planner/network/graph_passes.hpp"
#include "tests/planner/dense_net.hpp"
#include "tests/planner/fake_primitives.hpp"
#include "tests/planner/random_modes.hpp"

namespace znni {
namespace {

using test::blocked;
using test::planar;
using test::Random;
using testing::ElementsAre;
using testing::HasSubstr;

Convolution scheduled_conv(std::int64_t f_out, std::int64_t k = 1) { return {f_out, Vec3::cube(k), Vec3::cube(1), {}}; }

Geometry geometry_of(const Network& network, Vec3 n) {
  const std::vector<PoolingMode> modes(pooling_nodes(network).size(), PoolMode::fragments);
  return *make_geometry(network, {n, 1, modes});
}

Result<Schedule> schedule_of(const Network& network, Vec3 n, const std::vector<Step>& steps) {
  return make_schedule(network, geometry_of(network, n), steps, test::fake_catalogue(), test::fake_device());
}

std::string failure_of(const Network& network, const std::vector<Step>& steps) {
  const Result<Schedule> schedule = schedule_of(network, Vec3::cube(4), steps);
  return schedule ? "no failure" : schedule.error().message;
}

const Buffer& buffer(const Schedule& schedule, std::string_view name) {
  const auto found = std::find_if(schedule.memory.begin(), schedule.memory.end(),
                                  [&](const Buffer& candidate) { return candidate.name == name; });
  EXPECT_NE(found, schedule.memory.end()) << name;
  return *found;
}

// Returns a chain. 4 floats of 4x4x4 are 1024 bytes.
Network scheduled_chain() {
  Network network;
  network.f_in = 4;
  network.nodes = {{"conv1", scheduled_conv(4), {0}},
                   {"act", Activate{{ActivationKind::relu, 0}}, {1}},
                   {"conv2", scheduled_conv(8), {2}}};
  return network;
}

TEST(PlannerSchedule, ChainStageByStage) {
  const Network network = scheduled_chain();
  const Schedule schedule = *schedule_of(network, Vec3::cube(4), test::planar_steps(network));
  // Stages: conv1 0-2, act 3, conv2 4-6.
  ASSERT_EQ(schedule.calls.size(), 3U);
  EXPECT_EQ(schedule.calls[1].first_stage, 3);
  EXPECT_EQ(schedule.calls[2].first_stage, 4);
  EXPECT_EQ(buffer(schedule, "input"), (Buffer{"input", MemorySpace::host, 1024, Lifetime::stages(0, 0)}));
  EXPECT_EQ(buffer(schedule, "conv1/transforms").lifetime, Lifetime::stages(0, 1));
  EXPECT_EQ(buffer(schedule, "conv1/kernels").lifetime, Lifetime::plan());
  EXPECT_EQ(buffer(schedule, "conv1/output").lifetime, Lifetime::stages(1, 3));
  EXPECT_EQ(buffer(schedule, "act/scratch").lifetime, Lifetime::stages(3, 3));
  EXPECT_EQ(buffer(schedule, "act/output").lifetime, Lifetime::stages(3, 4));
  EXPECT_EQ(buffer(schedule, "conv2/transforms").lifetime, Lifetime::stages(4, 5));
  EXPECT_EQ(buffer(schedule, "conv2/output"),
            (Buffer{"conv2/output", MemorySpace::host, 2048, Lifetime::stages(5, 6)}));
  EXPECT_EQ(schedule.memory.size(), 9U);
  // 0: 1024 + 640; 1, 2: 640 + 1024; 3: 1024 + 128 + 1024; 4: 1024 + 640; 5: 640 + 2048.
  EXPECT_EQ(peak(schedule.memory), 640 + 2048);
  EXPECT_EQ(pack(schedule.memory).bytes, 640 + 2048);
  EXPECT_EQ(persistent_bytes(schedule.memory), 2 * test::fake_kernel_bytes);
}

TEST(PlannerSchedule, CallsNameTheirTensorsAndBuffers) {
  const Network network = scheduled_chain();
  const Schedule schedule = *schedule_of(network, Vec3::cube(4), test::planar_steps(network));
  const Call& call = schedule.calls[2];
  EXPECT_EQ(call.step, 2);
  EXPECT_FALSE(call.is_reorder);
  EXPECT_EQ(call.primitive->name, "cpu.conv.staged");
  EXPECT_THAT(call.inputs, ElementsAre(2));
  EXPECT_EQ(call.output, 3);
  EXPECT_EQ(schedule.output, 3);
  ASSERT_EQ(call.buffers.size(), 4U);
  EXPECT_EQ(call.buffers[0], schedule.tensors[2].buffer);
  EXPECT_EQ(schedule.memory[static_cast<std::size_t>(call.buffers[1])].name, "conv2/transforms");
  EXPECT_EQ(call.buffers[2], schedule.tensors[3].buffer);
  EXPECT_EQ(schedule.memory[static_cast<std::size_t>(call.buffers[3])].name, "conv2/kernels");
  EXPECT_EQ(schedule.tensors[3].shape, (Shape5{1, 8, Vec3::cube(4)}));
}

// The shortcut waits, counted, while the branch is computed.
TEST(PlannerSchedule, ResidualBranchStaysAlive) {
  Network network;
  network.f_in = 4;
  network.nodes = {{"a", scheduled_conv(4), {0}},
                   {"b", scheduled_conv(4), {1}},
                   {"c", scheduled_conv(4), {2}},
                   {"sum", Add{}, {1, 3}}};
  const Schedule schedule = *schedule_of(network, Vec3::cube(4), test::planar_steps(network));
  EXPECT_EQ(buffer(schedule, "a/output").lifetime, Lifetime::stages(1, 9));
  EXPECT_EQ(buffer(schedule, "b/output").lifetime, Lifetime::stages(4, 6));
  EXPECT_EQ(buffer(schedule, "c/output").lifetime, Lifetime::stages(7, 9));
  EXPECT_EQ(buffer(schedule, "sum/output").lifetime, Lifetime::stages(9, 9));
  // 6: a, b and c's transforms; 9: a, c, sum and scratch.
  EXPECT_EQ(peak(schedule.memory), 3 * 1024 + test::fake_scratch_bytes);
}

// A residual lies as the sums do, whatever the format of what is convolved, and is held to its last declared stage.
TEST(PlannerSchedule, ResidualIsReadInTheFormatThatIsWritten) {
  Network network;
  network.f_in = 4;
  network.nodes = {{"a", scheduled_conv(4), {0}}, {"b", scheduled_conv(4), {0, 1}}};
  std::vector<Step> steps = test::planar_steps(network);
  const Schedule staged = *schedule_of(network, Vec3::cube(4), steps);
  EXPECT_THAT(staged.calls[1].inputs, ElementsAre(0, 1));
  EXPECT_EQ(buffer(staged, "a/output").lifetime, Lifetime::stages(1, 5));
  for (Step& step : steps) {
    step.primitive = "cpu.conv.blocked";
    step.version = 3;
    step.variant = {};
    step.native = step.out = blocked;
  }
  steps[1].out = planar;
  steps[1].reorder = "cpu.reorder";
  ASSERT_TRUE(schedule_of(network, Vec3::cube(4), steps));
  steps[0].out = planar;
  steps[0].reorder = "cpu.reorder";
  EXPECT_EQ(failure_of(network, steps), "step of node b: reads f32:blocked8, but its input 1 is in f32:planar");
}

TEST(PlannerSchedule, TensorReadTwiceByOneCallCountsOnce) {
  Network network;
  network.f_in = 4;
  network.nodes = {{"double", Add{}, {0, 0}}};
  const Schedule schedule = *schedule_of(network, Vec3::cube(4), test::planar_steps(network));
  EXPECT_EQ(peak(schedule.memory), 2 * 1024 + test::fake_scratch_bytes);
  EXPECT_EQ(schedule.calls[0].buffers[0], schedule.calls[0].buffers[1]);
  EXPECT_THAT(schedule.calls[0].inputs, ElementsAre(0, 0));
}

TEST(PlannerSchedule, ReordersAreCallsOfTheirOwn) {
  Network network;
  network.f_in = 3;
  network.nodes = {{"conv", scheduled_conv(3), {0}}};
  std::vector<Step> steps = {
      {-1, "", 0, {}, planar, planar, blocked, "cpu.reorder", {}, 0, Basis::model},
      {0, "cpu.conv.blocked", 3, {}, blocked, blocked, planar, "cpu.reorder", {}, 0, Basis::model}};
  const Schedule schedule = *schedule_of(network, Vec3::cube(4), steps);
  ASSERT_EQ(schedule.calls.size(), 3U);
  EXPECT_TRUE(schedule.calls[0].is_reorder);
  EXPECT_EQ(schedule.calls[0].step, 0);
  EXPECT_FALSE(schedule.calls[1].is_reorder);
  EXPECT_TRUE(schedule.calls[2].is_reorder);
  EXPECT_EQ(schedule.calls[2].step, 1);
  EXPECT_EQ(buffer(schedule, "input").bytes, 3 * 256);
  EXPECT_EQ(buffer(schedule, "input/reordered").bytes, 8 * 256);
  EXPECT_EQ(buffer(schedule, "input/reordered").lifetime, Lifetime::stages(0, 1));
  EXPECT_EQ(buffer(schedule, "conv/output").lifetime, Lifetime::stages(1, 2));
  EXPECT_EQ(buffer(schedule, "conv/reordered").lifetime, Lifetime::stages(2, 2));
  EXPECT_EQ(schedule.tensors[static_cast<std::size_t>(schedule.output)].format, planar);
  EXPECT_EQ(peak(schedule.memory), 16 * 256);
}

// The tensor that is read again begins with what it keeps; beside it lies the same for the step to come.
TEST(PlannerSchedule, HistoriesStandBeforeTheNewPlanesAndLiveThroughout) {
  Network network;
  network.f_in = 4;
  network.nodes = {{"conv1", scheduled_conv(4, 3), {0}},
                   {"act", Activate{{ActivationKind::relu, 0}}, {1}},
                   {"conv2", scheduled_conv(3, 2), {2}},
                   {"all", Concat{}, {3, 3}}};
  const Geometry geometry = *make_geometry(network, {{2, 6, 6}, 1, {}, 0, true});
  const Result<Schedule> made =
      make_schedule(network, geometry, test::planar_steps(network), test::fake_catalogue(), test::fake_device());
  ASSERT_TRUE(made) << made.error().message;
  const int last = stage_count(made->memory) - 1;
  const Buffer input = {"input/history", MemorySpace::host, 4 * 4 * 2 * 36, Lifetime::stages(0, last)};
  const Buffer act = {"act/history", MemorySpace::host, 4 * 4 * 1 * 16, Lifetime::stages(0, last)};
  EXPECT_EQ(made->memory[0], input);
  EXPECT_EQ(made->memory[1], act);
  EXPECT_EQ(history_bytes(*made), input.bytes + act.bytes);
  EXPECT_EQ(buffer(*made, "input").bytes, 4 * 4 * 4 * 36);
  EXPECT_EQ(buffer(*made, "act/output").bytes, 4 * 4 * 3 * 16);
  EXPECT_EQ(made->tensors[static_cast<std::size_t>(made->histories[1].tensor)].around.begin.z, 1);
  EXPECT_THAT(made->calls[2].around, ElementsAre(Border{}));
}

// The value that "wide" reads keeps four planes; "narrow" begins behind two of them.
TEST(PlannerSchedule, AGpuIsToldWhatStandsBeforeItsPlanes) {
  Network network;
  network.nodes = {{"first", scheduled_conv(4, 2), {0}},
                   {"wide", scheduled_conv(3, 5), {1}},
                   {"narrow", scheduled_conv(3, 3), {1}},
                   {"again", scheduled_conv(3, 3), {3}},
                   {"sum", Add{}, {2, 4}}};
  const Geometry geometry = *make_geometry(network, {{2, 9, 9}, 1, {}, 0, true});
  const auto before = [&](int node, DeviceKind kind = DeviceKind::gpu, bool reordered = false) {
    return std::get<ConvProblem>(problem_on(kind, network, geometry, node, reordered)).before;
  };
  EXPECT_EQ(before(0), (PlanesBefore{0, 4}));
  EXPECT_EQ(before(0, DeviceKind::gpu, true), PlanesBefore()) << "the reorder writes the value";
  EXPECT_EQ(before(0, DeviceKind::cpu), PlanesBefore());
  EXPECT_EQ(before(1), PlanesBefore());
  EXPECT_EQ(before(2), (PlanesBefore{2, 2}));
  EXPECT_EQ(problem_on(DeviceKind::gpu, network, geometry, 4), geometry.problems[4]);
}

// Whatever the last call does after it declared its output done, the stitcher reads the output later.
TEST(PlannerSchedule, OutputLivesToTheEnd) {
  Network network;
  network.f_in = 4;
  network.nodes = {{"conv", scheduled_conv(4), {0}}};
  std::vector<Step> steps = test::planar_steps(network);
  steps[0].variant = {{"part", 3}};
  const Schedule schedule = *schedule_of(network, Vec3::cube(4), steps);
  EXPECT_EQ(buffer(schedule, "conv/output").lifetime, Lifetime::stages(1, 3));
  EXPECT_EQ(buffer(schedule, "conv/late").lifetime, Lifetime::stages(3, 3));
}

TEST(PlannerSchedule, NamesAreMadeUnique) {
  Network network;
  network.nodes = {{"a", scheduled_conv(1), {0}},
                   {"a/output", scheduled_conv(1), {1}},
                   {"input/reordered", scheduled_conv(1), {2}},
                   {"sum", Add{}, {2, 3}}};
  network.input_name = "a/transforms";
  const Schedule schedule = *schedule_of(network, Vec3::cube(4), test::planar_steps(network));
  std::set<std::string> names;
  for (const Buffer& each : schedule.memory) EXPECT_TRUE(names.insert(each.name).second) << each.name;
}

TEST(PlannerSchedule, ErrorsNameTheStepThatNoLongerFits) {
  const Network network = scheduled_chain();
  const std::vector<Step> good = test::planar_steps(network);
  const auto failure = [&](auto change) {
    std::vector<Step> steps = good;
    change(steps);
    return failure_of(network, steps);
  };
  EXPECT_EQ(failure([](auto&) {}), "no failure");
  EXPECT_THAT(failure([](auto& s) { s.pop_back(); }), HasSubstr("2 steps for 3 nodes"));
  EXPECT_THAT(failure([](auto& s) { s.clear(); }), HasSubstr("0 steps for 3 nodes"));
  EXPECT_THAT(failure([](auto& s) { s[1].node = 2; }), HasSubstr("step 1 is of node 2; node 1 comes next"));
  EXPECT_THAT(failure([](auto& s) { s[2].primitive = "cpu.gone"; }),
              HasSubstr("step of node conv2: unknown primitive cpu.gone"));
  EXPECT_THAT(failure([](auto& s) { s[0].variant = {{"part", 7}}; }), HasSubstr("part=7"));
  EXPECT_THAT(failure([](auto& s) { s[0].primitive = "cpu.any"; }), HasSubstr("cpu.any: no convolutions"));
  EXPECT_THAT(failure([](auto& s) { s[1].in = blocked; }), HasSubstr("step of node act: reads f32:blocked8"));
  EXPECT_THAT(failure([](auto& s) { s[1].out = blocked; }), HasSubstr("the reorder is missing"));
  EXPECT_THAT(failure([](auto& s) { s[1].reorder = "cpu.reorder"; }), HasSubstr("the reorder is cpu.reorder"));
  EXPECT_THAT(failure([](auto& s) { s[2].out = blocked; }), HasSubstr("the output is left in f32:blocked8"));
  EXPECT_THAT(failure([](auto& s) { s[2].division = {Division{1, 1, 1, 1}}; }), HasSubstr("is divided"));
}

TEST(PlannerSchedule, PrimitivesThatDeclareNonsenseAreFound) {
  Network network;
  network.nodes = {{"conv", scheduled_conv(1), {0}}};
  const auto step = [](const char* name) {
    return std::vector<Step>{{0, name, 1, {}, planar, blocked, planar, "cpu.reorder", {}, 0, Basis::model}};
  };
  EXPECT_THAT(failure_of(network, step("cpu.broken")), HasSubstr("declares 4 bytes for its output"));
  EXPECT_THAT(failure_of(network, step("cpu.forgetful")), HasSubstr("declares 1 inputs and outputs; it needs 2"));
}

// Memory as bytes that carry the number of the buffer last written there.
class Simulation {
 public:
  explicit Simulation(const Schedule& schedule)
      : schedule_(schedule), packing_(pack(schedule.memory)), owner_(static_cast<std::size_t>(packing_.bytes), -1) {}

  void run() {
    for (const ScheduledHistory& history : schedule_.histories) write(history.buffer);
    write(schedule_.tensors[0].buffer);
    for (const Call& call : schedule_.calls) {
      for (int stage = 0; stage < stage_count(call.estimate.memory); ++stage) step(call, stage);
    }
    expect_intact(schedule_.tensors[static_cast<std::size_t>(schedule_.output)].buffer, "at the end");
    for (const ScheduledHistory& history : schedule_.histories) expect_intact(history.buffer, "at the end");
  }

 private:
  // Writes what is opened, and expects that all that is open is intact.
  void step(const Call& call, int stage) {
    const MemoryPlan& plan = call.estimate.memory;
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const bool input = plan[i].name.starts_with("input ");
      if (!plan[i].lifetime.persistent && !input && plan[i].lifetime.first == stage) write(call.buffers[i]);
    }
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const Lifetime& life = plan[i].lifetime;
      if (!life.persistent && life.first <= stage && stage <= life.last) expect_intact(call.buffers[i], plan[i].name);
    }
  }

  void write(int buffer) {
    visit(buffer, [&](int& owner) { owner = buffer; });
  }
  void expect_intact(int buffer, const std::string& when) {
    bool intact = true;
    visit(buffer, [&](const int& owner) { intact = intact && owner == buffer; });
    EXPECT_TRUE(intact) << schedule_.memory[static_cast<std::size_t>(buffer)].name << " is overwritten, " << when;
  }
  template <class Action>
  void visit(int buffer, const Action& action) {
    const auto i = static_cast<std::size_t>(buffer);
    const std::int64_t begin = packing_.offsets[i];
    ASSERT_GE(begin, 0);
    for (std::int64_t at = begin; at < begin + schedule_.memory[i].bytes; ++at)
      action(owner_[static_cast<std::size_t>(at)]);
  }

  const Schedule& schedule_;
  Packing packing_;
  std::vector<int> owner_;
};

// Draws a choice, streamed half of the time if the modes allow it.
GeometryChoice drawn_choice(const Network& network, Random& random, std::int64_t max_out, std::int64_t S) {
  const std::vector<PoolingMode> modes = test::random_modes(network, random);
  GeometryChoice choice{test::random_extent(network, modes, random, max_out), S, modes};
  if (random.chance(0.5) || !can_stream(network, modes)) return choice;
  choice.S = 1;
  choice.streamed = true;
  choice.pass_input.z = reaches(network).back().stride.z * random.integer(1, 2);
  return choice;
}

// Draws a network; half of them have the additions that convolutions can take.
Network folded_network(Random& random) {
  Network network = test::random_network(random);
  return random.chance(0.5) ? network : fold_and_fuse({std::move(network), {}}).network;
}

class RandomSchedules : public testing::TestWithParam<int> {};

TEST_P(RandomSchedules, NothingIsOverwrittenWhileItIsNeeded) {
  SCOPED_TRACE("case " + std::to_string(GetParam()) + ", ZNNI_TEST_SEED=" + std::to_string(test::base_seed()));
  Random random(test::base_seed() * 1000 + static_cast<std::uint64_t>(GetParam()));
  const Network network = folded_network(random);
  const Geometry geometry = *make_geometry(network, drawn_choice(network, random, 2, 2));
  const std::vector<Step> steps = test::random_steps(network, random);
  const Result<Schedule> schedule =
      make_schedule(network, geometry, steps, test::fake_catalogue(), test::fake_device());
  ASSERT_TRUE(schedule) << schedule.error().message;
  EXPECT_EQ(schedule->calls.size(),
            network.nodes.size() +
                static_cast<std::size_t>(std::count_if(
                    steps.begin(), steps.end(), [](const Step& s) { return !s.reorder.empty() && s.node >= 0; })) +
                (steps.front().node == -1 ? 1U : 0U));
  Simulation(*schedule).run();
}

// A lifetime ends where the last reader stops to read: no tensor is counted longer than it is needed.
TEST_P(RandomSchedules, LifetimesAreTight) {
  SCOPED_TRACE("case " + std::to_string(GetParam()) + ", ZNNI_TEST_SEED=" + std::to_string(test::base_seed()));
  Random random(test::base_seed() * 1000 + static_cast<std::uint64_t>(GetParam()));
  const Network network = folded_network(random);
  const Geometry geometry = *make_geometry(network, drawn_choice(network, random, 1, 1));
  const Schedule schedule = *make_schedule(network, geometry, test::random_steps(network, random),
                                           test::fake_catalogue(), test::fake_device());
  std::vector<int> needed(schedule.memory.size(), 0);
  for (const Call& call : schedule.calls) {
    for (std::size_t i = 0; i < call.buffers.size(); ++i) {
      const Lifetime& life = call.estimate.memory[i].lifetime;
      int& last = needed[static_cast<std::size_t>(call.buffers[i])];
      if (!life.persistent) last = std::max(last, call.first_stage + life.last);
    }
  }
  const int output = schedule.tensors[static_cast<std::size_t>(schedule.output)].buffer;
  needed[static_cast<std::size_t>(output)] = stage_count(schedule.memory) - 1;
  for (const Call& call : schedule.calls) {
    if (call.held < 0) continue;
    const int held = schedule.tensors[static_cast<std::size_t>(call.inputs.front())].buffer;
    needed[static_cast<std::size_t>(held)] = stage_count(schedule.memory) - 1;
  }
  for (const ScheduledHistory& history : schedule.histories) {
    EXPECT_EQ(schedule.memory[static_cast<std::size_t>(history.buffer)].lifetime.first, 0);
    needed[static_cast<std::size_t>(history.buffer)] = stage_count(schedule.memory) - 1;
  }
  for (std::size_t i = 0; i < needed.size(); ++i) {
    EXPECT_EQ(schedule.memory[i].lifetime.last, needed[i]) << schedule.memory[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(PlannerSchedule, RandomSchedules, testing::Range(0, test::case_count(40)));

}  // namespace
}  // namespace znni
