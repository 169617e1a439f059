#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "planner/costs/catalogue.hpp"
#include "planner/layers/schedule.hpp"
#include "planner/plan/plan.hpp"
#include "planner/search/search.hpp"
#include "tests/planner/dense_net.hpp"
#include "tests/planner/fake_primitives.hpp"

namespace znni {
namespace {

using testing::HasSubstr;
using testing::Not;

Network net() {
  Network network;
  network.name = "net";
  network.nodes = {{"conv", Convolution{4, Vec3::cube(3), Vec3::cube(1), {}}, {0}}, {"pool", Pooling{}, {1}}};
  return network;
}

// Returns a plan that a search would write, with numbers that are exact.
Plan example() {
  const Network network = net();
  const GeometryChoice choice{Vec3::cube(9), 1, {PoolMode::fragments}};
  const std::vector<Step> steps = test::planar_steps(network);
  const Schedule schedule =
      *make_schedule(network, *make_geometry(network, choice), steps, test::fake_catalogue(), test::fake_device());
  Plan plan;
  plan.memory = {weight_bytes(network), persistent_bytes(schedule.memory), pack(schedule.memory).bytes};
  plan.key = {"net",
              describe(network),
              test::fake_device().name,
              2,
              plan.memory.total(),
              "cpu",
              test::fake_catalogue().fingerprint()};
  plan.ladder = {{choice, {{0, 1, Place::cpu, {}, steps}}, 1, plan.memory}};
  return plan;
}

PlanCheck checked(const Plan& plan, const Network& network = net(), const DeviceSpec& device = test::fake_device()) {
  return check(plan, network, test::fake_catalogue(), device, plan.key.memory_limit);
}

void expect_does_not_run(const Plan& plan, const std::string& reason) {
  const PlanCheck answer = checked(plan);
  EXPECT_EQ(answer.fit, PlanFit::does_not_run);
  EXPECT_THAT(answer.reason, HasSubstr(reason));
}

TEST(PlannerPlanCheck, RunsWhereItWasMade) {
  const PlanCheck answer = checked(example());
  EXPECT_EQ(answer.fit, PlanFit::runs) << answer.reason;
  EXPECT_EQ(answer.reason, "");
}

TEST(PlannerPlanCheck, OtherNetwork) {
  Network other = net();
  std::get<Convolution>(other.nodes[0].operation).f_out = 5;
  const PlanCheck answer = checked(example(), other);
  EXPECT_EQ(answer.fit, PlanFit::does_not_run);
  EXPECT_THAT(answer.reason,
              HasSubstr("node 0 is \"conv: conv 1 -> 4, k 3x3x3 <- input\" in the plan and \"conv: conv 1 "
                        "-> 5, k 3x3x3 <- input\" in the network"));
  other = net();
  other.nodes.push_back({"out", AcrossChannels{}, {2}});
  EXPECT_THAT(checked(example(), other).reason, HasSubstr("node 2 is missing in the plan and \"out: softmax 4"));
}

// A network of another name with the same nodes computes the same.
TEST(PlannerPlanCheck, NamesOfNetworksDoNotMatter) {
  Network other = net();
  other.name = "copy";
  EXPECT_EQ(checked(example(), other).fit, PlanFit::runs);
}

TEST(PlannerPlanCheck, MemoryOverTheLimitGivesBothNumbers) {
  const Plan plan = example();
  const std::int64_t total = plan.memory.total();
  const Catalogue catalogue = test::fake_catalogue();
  EXPECT_EQ(check(plan, net(), catalogue, test::fake_device(), total).fit, PlanFit::runs);
  const PlanCheck answer = check(plan, net(), catalogue, test::fake_device(), total - 1);
  EXPECT_EQ(answer.fit, PlanFit::does_not_run);
  EXPECT_THAT(answer.reason, HasSubstr("(" + std::to_string(total) + " bytes); the limit is"));
  EXPECT_THAT(answer.reason, HasSubstr("(" + std::to_string(total - 1) + " bytes)"));
}

TEST(PlannerPlanCheck, MemoryThatThePlanDoesNotCount) {
  Plan plan = example();
  --plan.memory.transient;
  expect_does_not_run(plan, "rung 0: its tensors and scratch buffers take");
  plan = example();
  --plan.memory.persistent;
  expect_does_not_run(plan, "rung 0: its persistent buffers take");
  plan = example();
  --plan.memory.weights;
  expect_does_not_run(plan, "its weights take");
}

TEST(PlannerPlanCheck, MemoryThatNoStepTakes) {
  Plan plan = example();
  plan.memory.transient += 64;
  plan.key.memory_limit += 64;
  expect_does_not_run(plan, "plan memory: found " + to_string(plan.memory) + ", its steps take ");
}

TEST(PlannerPlanCheck, StepsThatNoEngineRuns) {
  Plan plan = example();
  plan.ladder[0].segments[0].micro_batch.inputs = 2;
  expect_does_not_run(plan,
                      "rung 0: segment of nodes 0 to 1 runs in micro-batches; this engine runs whole segments only");
  plan = example();
  plan.ladder[0].segments[0].steps[1].division = {{1, 1, 1, 4}};
  expect_does_not_run(plan, "rung 0: node 1 is divided into sub-layers");
}

TEST(PlannerPlanCheck, OtherThreads) {
  Plan plan = example();
  plan.key.threads = 16;
  expect_does_not_run(plan, "planned for 16 threads, on which its memory depends; there are 2");
}

TEST(PlannerPlanCheck, SocketsAreThoseOfTheDeviceAndTakeTheirMemoryEach) {
  Plan plan = example();
  plan.sockets = 2;
  expect_does_not_run(plan, "planned for 2 sockets; there are 1");
  DeviceSpec machine = test::fake_device();
  machine.sockets = 2;
  EXPECT_EQ(checked(example(), net(), machine).fit, PlanFit::runs);  // as a whole
  machine.threads = plan.key.threads = 4;
  EXPECT_THAT(checked(plan, net(), machine).reason, HasSubstr("; the plan counts "));
  plan.memory.persistent *= 2;
  plan.memory.transient *= 2;
  plan.key.memory_limit = plan.memory.total();
  const PlanCheck answer = checked(plan, net(), machine);
  EXPECT_EQ(answer.fit, PlanFit::runs) << answer.reason;
  plan.ladder[0].segments[0].place = Place::gpu;
  EXPECT_THAT(checked(plan, net(), machine).reason, HasSubstr("sockets is 2; with a GPU it must be 1"));
}

TEST(PlannerPlanCheck, OtherDeviceRunsAndSaysSo) {
  DeviceSpec device = test::fake_device();
  device.name = "other, 2 threads";
  const PlanCheck answer = checked(example(), net(), device);
  EXPECT_EQ(answer.fit, PlanFit::runs);
  EXPECT_EQ(answer.reason, "planned for fake, 2 threads; this is other, 2 threads");
}

TEST(PlannerPlanCheck, PrimitivesThatChangedOrAreGone) {
  Plan plan = example();
  plan.ladder[0].segments[0].steps[0].primitive = "cpu.gone";
  expect_does_not_run(plan, "rung 0: node 0: unknown primitive cpu.gone");
  plan = example();
  plan.ladder[0].segments[0].steps[1].version = 1;
  expect_does_not_run(plan, "rung 0: node 1: cpu.any is version 2 here and version 1 in the plan");
  plan = example();
  plan.ladder[0].segments[0].steps[0].variant = {{"part", 9}};
  expect_does_not_run(plan, "rung 0: step of node conv: cpu.conv.staged does not compute");
}

// However it came there: nothing is rounded coarser than was asked for.
TEST(PlannerPlanCheck, LayersCoarserThanThePlanAllows) {
  Plan plan = example();
  plan.ladder[0].segments[0].steps[0].variant = {{"tf32", 1}};
  expect_does_not_run(plan, "rung 0: node 0: cpu.conv.staged computes in tf32; the plan allows fp32");
  plan.key.precision = Precision::tf32;
  EXPECT_THAT(checked(plan).reason, Not(HasSubstr("the plan allows")));
  plan.ladder[0].segments[0].steps[1].out.type = ElementType::bf16;
  plan.ladder[0].segments[0].steps[1].reorder = "cpu.reorder";
  expect_does_not_run(plan, "rung 0: node 1: cpu.any computes in bf16; the plan allows tf32");
}

TEST(PlannerPlanCheck, EditedLadders) {
  Plan plan = example();
  plan.ladder.clear();
  expect_does_not_run(plan, "has no patch size");
  plan = example();
  plan.ladder[0].geometry.pass_input.x = 8;
  expect_does_not_run(plan, "rung 0: node pool: n.x - window.x + 1 = 5 is not divisible by stride.x = 2");
  plan = example();
  plan.ladder[0].segments[0].steps.pop_back();
  expect_does_not_run(plan, "rung 0: 1 steps for 2 nodes");
  plan = example();
  plan.ladder[0].segments[0].place = Place::gpu;
  expect_does_not_run(plan, "rung 0: segment of nodes 0 to 1 is placed on 'gpu', and there is no GPU here");
}

TEST(PlannerPlanCheck, StepsMayBeSplitIntoSegments) {
  Plan plan = example();
  const std::vector<Step> steps = test::planar_steps(net());
  plan.ladder[0].segments = {{0, 0, Place::cpu, {}, {steps[0]}}, {1, 1, Place::cpu, {}, {steps[1]}}};
  EXPECT_EQ(checked(plan).fit, PlanFit::runs);
}

TEST(PlannerPlanCheck, GrownSearchSpaceNamesWhatIsNew) {
  Plan plan = example();
  plan.key.search_space = "cpu.any:2 cpu.broken:1 cpu.conv.blocked:2 cpu.conv.staged:1 cpu.forgetful:1 cpu.reorder:1";
  const PlanCheck answer = checked(plan);
  EXPECT_EQ(answer.fit, PlanFit::runs_but_search_space_grew);
  EXPECT_EQ(answer.reason, "primitives that were not searched: cpu.conv.blocked:3");
}

// A coarser primitive was left out on purpose where the plan is in float32, and is new where it may be coarser.
TEST(PlannerPlanCheck, GrownSearchSpaceIsThatOfThePlansPrecision) {
  static constexpr Primitive coarse{"cpu.conv.x_bf16", 1, DeviceKind::cpu, nullptr, nullptr};
  static constexpr std::array<const Primitive*, 1> added = {&coarse};
  const Backend more{"more", nullptr, nullptr, added};
  const std::array<const Backend*, 2> backends = {&test::fake_backend(), &more};
  Plan plan = example();
  // The plan's steps name primitives of the fakes alone, so the new one is not described.
  const Catalogue all = *Catalogue::make(backends, {}, {}, Precision::bf16);
  const auto fit = [&] { return check(plan, net(), all, test::fake_device(), plan.key.memory_limit).fit; };
  EXPECT_EQ(fit(), PlanFit::runs);
  plan.key.precision = Precision::bf16;
  EXPECT_EQ(fit(), PlanFit::runs_but_search_space_grew);
}

TEST(PlannerPlanCheck, ShrunkSearchSpaceIsNoReasonUnlessItIsUsed) {
  const std::array<const Backend*, 1> backends = {&test::fake_backend()};
  const Plan plan = example();
  const auto without = [&](const std::string& name) {
    return check(plan, net(), *Catalogue::make(backends, {}, {name}), test::fake_device(), plan.key.memory_limit);
  };
  EXPECT_EQ(without("cpu.conv.blocked").fit, PlanFit::runs);
  EXPECT_EQ(without("cpu.any").fit, PlanFit::does_not_run);
}

// The check accepts what the search writes, at exactly the memory that the search used.
TEST(PlannerPlanCheck, PlansOfTheSearchRun) {
  const std::array<const Backend*, 1> backends = {&test::fake_backend()};
  const Catalogue catalogue = *Catalogue::make(backends, {}, {"cpu.broken", "cpu.forgetful"});
  SearchOptions options;
  options.memory_limit = 1 << 20;
  options.max_extent = 40;
  for (int i = 0; i < test::case_count(8); ++i) {
    SCOPED_TRACE("case " + std::to_string(i) + ", ZNNI_TEST_SEED=" + std::to_string(test::base_seed()));
    test::Random random(test::base_seed() * 1000 + static_cast<std::uint64_t>(i));
    const Network network = test::random_network(random);
    const Result<Plan> plan = search(network, test::fake_device(), catalogue, *modelled_costs(), options);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_LE(plan->memory.total(), options.memory_limit);
    const PlanCheck answer = check(*plan, network, catalogue, test::fake_device(), plan->memory.total());
    EXPECT_EQ(answer.fit, PlanFit::runs);
    EXPECT_EQ(answer.reason, "");
  }
}

}  // namespace
}  // namespace znni
