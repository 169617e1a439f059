// Plans as the search and the CPU back end make them, run on volumes and compared with the dense window.
#include <gtest/gtest.h>

#include <string>

#include "planner/costs/costs.hpp"
#include "planner/measure/draw.hpp"
#include "planner/network/graph_passes.hpp"
#include "planner/search/search.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/cpu_device.hpp"
#include "server/pipeline/engine.hpp"
#include "server/pipeline/schedule/prepared_schedule.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/oracle_primitive.hpp"
#include "tests/server/pipeline/random_network.hpp"

namespace znni {
namespace {

using test::JobOutcome;
using test::Random;
using test::RandomVolume;

class CpuPlan : public testing::Test {
 protected:
  CpuPlan() {
    const Backend* const rows[] = {&cpu::backend()};
    catalogue_ = Catalogue::make(rows).value();
    device_ = cpu::backend().open(cpu::describe_cpu(2), std::int64_t{1} << 31, 0, 0).value();
  }

  Result<Plan> search_plan(const Network& network, std::int64_t memory, Strategy strategy) {
    SearchOptions options;
    options.memory_limit = memory;
    options.strategy = strategy;
    options.max_extent = 40;
    const std::unique_ptr<CostSource> costs = modelled_costs();
    return search(network, device_->spec(), catalogue_, *costs, options);
  }

  // Runs `plan` on a random volume; a voxel too far from the oracle is a failure.
  void expect_exact(const Network& network, const Plan& plan, Random& random) {
    const NetworkWeights weights = random_weights(network, static_cast<std::uint64_t>(random.integer(1, 1000)));
    const Result<std::unique_ptr<Engine>> engine = Engine::open(network, weights, plan, catalogue_, *device_);
    ASSERT_TRUE(engine) << engine.error().message;
    EXPECT_EQ((*engine)->reserved_bytes(), plan.memory.persistent + plan.memory.transient);
    const Vec3 n = min((*engine)->field_of_view() + random.vec3(0, 22), Vec3::cube(40));
    const RandomVolume volume = test::random_volume(network.f_in, n, ElementType::f32, random);
    const JobOutcome outcome = test::run_job(**engine, volume.view());
    ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
    const oracle::Values exact = test::dense_oracle(network, weights, n, test::volume_values(volume.view(), {}));
    EXPECT_LE(test::relative_error(test::output_values(outcome), exact), 1e-5) << to_string(n);
  }

  std::unique_ptr<Device> device_;
  Catalogue catalogue_;
};

std::string in_words(const Network& network) {
  std::string text;
  for (const std::string& line : describe(network)) text += "\n" + line;
  return text;
}

TEST_F(CpuPlan, SearchedPlansEqualTheDenseWindowUnderAnyLimit) {
  for (int i = 0; i < test::case_count(6); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const Network network = test::random_network(random, 20);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + in_words(network));
    const std::int64_t memory = std::int64_t{1} << random.integer(19, 26);
    const Result<Plan> plan = search_plan(network, memory, random.chance(0.3) ? Strategy::baseline : Strategy::cpu);
    if (!plan) {
      EXPECT_EQ(plan.error().code, ErrorCode::over_budget) << plan.error().message;
      continue;
    }
    EXPECT_LE(plan->memory.total(), memory);
    expect_exact(network, *plan, random);
  }
}

// The plan's machine is only described: threads are not pinned to cores that this one lacks.
TEST_F(CpuPlan, APlanForEachSocketEqualsTheDenseWindow) {
  DeviceSpec machine = cpu::describe_cpu(4);
  machine.sockets = 2;
  const cpu::Topology topology = cpu::synthetic_topology("package:2 [numa(memory=1073741824)] core:2 pu:1").value();
  for (int i = 0; i < test::case_count(6); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const Network network = test::random_network(random, 20);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + in_words(network));
    device_ = cpu::make_cpu_device(of_one_socket(machine), topology, std::int64_t{1} << 31);
    Result<Plan> plan = search_plan(network, std::int64_t{1} << random.integer(21, 25), Strategy::cpu);
    if (!plan) continue;
    device_ = cpu::make_cpu_device(machine, topology, std::int64_t{1} << 31);
    plan->sockets = 2;
    plan->memory.persistent *= 2;
    plan->memory.transient *= 2;
    expect_exact(network, *plan, random);
  }
}

// Blocks whose branches reach equally far, around a pooling: a shortcut that is convolved, and one that is not.
Network residual_blocks(std::int64_t f) {
  const auto conv = [f](std::int64_t k, std::int64_t dilation = 1) {
    return Convolution{f, Vec3::cube(k), Vec3::cube(dilation), {}};
  };
  const Activation relu{ActivationKind::relu, 0};
  Network network;
  network.name = "residual blocks";
  network.nodes = {{"first", conv(2), {0}},        {"a1", conv(2), {1}},          {"act", Activate{relu}, {2}},
                   {"a2", conv(2), {3}},           {"shortcut", conv(2, 2), {1}}, {"sum1", Add{relu}, {4, 5}},
                   {"pool", Pooling{}, {6}},       {"b1", conv(3), {7}},          {"norm", ScaleShift{}, {8}},
                   {"act_b", Activate{relu}, {9}}, {"b2", conv(1), {10}},         {"sum2", Add{}, {9, 11}},
                   {"act2", Activate{relu}, {12}}, {"last", conv(1), {13}}};
  return network;
}

// Appends a block as it is trained: beside a kernel a smaller one and a normalisation of the same tensor.
void append_block(Network& network, const std::string& name, Vec3 k, Vec3 begin) {
  const std::int64_t f = channels_of(network).back();
  const int from = static_cast<int>(network.nodes.size());
  network.nodes.push_back({name + "_large", Convolution{f, k, Vec3::cube(1), {}}, {from}});
  network.nodes.push_back({name + "_crop", Crop{begin, k - Vec3::cube(1) - begin}, {from}});
  network.nodes.push_back({name + "_small", Convolution{f, Vec3::cube(1), Vec3::cube(1), {}}, {from + 2}});
  network.nodes.push_back({name + "_norm", ScaleShift{}, {from + 2}});
  network.nodes.push_back({name, Add{{ActivationKind::relu, 0}}, {from + 1, from + 3, from + 4}});
}

class FoldedPlan : public CpuPlan {
 protected:
  // Plans and runs what is left after all passes, and compares it with the net as it was.
  void equals_the_dense_window(const Network& network, const LoadedNetwork& folded, const NetworkWeights& weights) {
    Random random(test::base_seed());
    const Result<Plan> plan = search_plan(folded.network, std::int64_t{64} << 20, Strategy::cpu);
    ASSERT_TRUE(plan) << plan.error().message;
    const Result<std::unique_ptr<Engine>> engine =
        Engine::open(folded.network, folded.weights, *plan, catalogue_, *device_);
    ASSERT_TRUE(engine) << engine.error().message;
    const RandomVolume volume = test::random_volume(1, {21, 24, 30}, ElementType::f32, random);
    const JobOutcome outcome = test::run_job(**engine, volume.view());
    ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
    const oracle::Values exact =
        test::dense_oracle(network, weights, volume.shape.n, test::volume_values(volume.view(), {}));
    EXPECT_LE(test::relative_error(test::output_values(outcome), exact), 1e-5);
  }
};

TEST_F(FoldedPlan, ResidualBlocksEqualTheDenseWindowWithoutAnAddition) {
  for (const std::int64_t f : {3, 20}) {
    SCOPED_TRACE(f);
    const Network network = residual_blocks(f);
    ASSERT_TRUE(check(network)) << check(network).error().message;
    const NetworkWeights weights = random_weights(network, 3);
    const LoadedNetwork folded = fold_and_fuse({network, weights});
    for (const Node& node : folded.network.nodes) EXPECT_FALSE(std::holds_alternative<Add>(node.operation));
    equals_the_dense_window(network, folded, weights);
  }
}

TEST_F(FoldedPlan, BlocksOfThreeBranchesEqualTheDenseWindowWithOneConvolutionEach) {
  Network network;
  network.name = "blocks of three branches";
  network.nodes = {{"first", Convolution{20, Vec3::cube(2), Vec3::cube(1), {ActivationKind::relu, 0}}, {0}},
                   {"pool", Pooling{}, {1}}};
  append_block(network, "a", Vec3::cube(3), Vec3::cube(1));
  append_block(network, "b", Vec3::cube(3), Vec3::cube(1));
  ASSERT_TRUE(check(network)) << check(network).error().message;
  const NetworkWeights weights = random_weights(network, 3);
  const LoadedNetwork folded = fold_and_fuse({network, weights});
  EXPECT_EQ(folded.network.nodes.size(), 4U);
  equals_the_dense_window(network, folded, weights);
}

TEST_F(FoldedPlan, RandomNetsThatEndInSuchABlockEqualTheDenseWindow) {
  Random random(test::base_seed());
  for (int i = 0; i < 4; ++i) {
    Network network = test::random_network(random, 12);
    network.f_in = 1;
    const std::size_t without = fold_and_fuse({network, {}}).network.nodes.size();
    const Vec3 k = random.vec3(1, 3);
    append_block(network, "block", k, {random.integer(0, k.z - 1), 0, k.x - 1});
    ASSERT_TRUE(check(network)) << check(network).error().message;
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(test::base_seed()) + ", net " + std::to_string(i));
    const NetworkWeights weights = random_weights(network, 3);
    const LoadedNetwork folded = fold_and_fuse({network, weights});
    EXPECT_LE(folded.network.nodes.size(), without + 1);
    equals_the_dense_window(network, folded, weights);
  }
}

// Appends two branches of as many channels, each of two convolutions, that are added up, or end otherwise and are put
// side by side.
void append_branches(Network& network, Vec3 k, bool added) {
  const auto append = [&](const std::string& name, const Operation& operation, std::vector<int> inputs) {
    network.nodes.push_back({name, operation, std::move(inputs)});
    return static_cast<int>(network.nodes.size());
  };
  const auto conv = [](std::int64_t f_out, Vec3 extent, Activation activation) {
    return Convolution{f_out, extent, Vec3::cube(1), activation};
  };
  const Activation relu{ActivationKind::relu, 0};
  const Vec3 point = Vec3::cube(1);
  const int wide = append("wide", conv(25, point, relu), {static_cast<int>(network.nodes.size())});
  const int left = append("left", conv(18, k, relu), {wide});
  const int left_last = append("left_last", conv(5, point, {}), {left});
  const int right = append("right", conv(7, k, relu), {wide});
  const int right_last = append("right_last", conv(5, point, added ? Activation{} : relu), {right});
  append("meeting", added ? Operation(Add{relu}) : Operation(Concat{}), {left_last, right_last});
}

TEST_F(FoldedPlan, NetsThatEndInBranchesEqualTheDenseWindowWithOneConvolutionForBoth) {
  Random random(test::base_seed());
  for (int i = 0; i < 4; ++i) {
    Network network = test::random_network(random, 12);
    network.f_in = 1;
    const std::size_t without = fold_and_fuse({network, {}}).network.nodes.size();
    const bool added = i % 2 == 0;
    append_branches(network, random.vec3(2, 3), added);
    ASSERT_TRUE(check(network)) << check(network).error().message;
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(test::base_seed()) + ", net " + std::to_string(i));
    const NetworkWeights weights = random_weights(network, 3);
    const LoadedNetwork folded = fold_and_fuse({network, weights});
    EXPECT_LE(folded.network.nodes.size(), without + (added ? 3 : 5));
    equals_the_dense_window(network, folded, weights);
  }
}

// Returns the planned rung in words.
std::string in_words(const Plan& plan) {
  const GeometryChoice& choice = plan.ladder.front().geometry;
  std::string text = "\nS " + std::to_string(choice.S) + ", pass input " + to_string(choice.pass_input) +
                     (choice.streamed ? ", streamed along axis " + std::to_string(choice.axis) : "") + ", stem slab " +
                     std::to_string(choice.stem_slab);
  for (const Step& step : plan.ladder.front().segments.front().steps) text += "\n" + step.primitive;
  return text;
}

// Whatever the search looks through, whether it would win or not: any geometry, way to pool, S and stream, any
// primitive of any format, in any part of the memory.
TEST_F(CpuPlan, DrawnPlansEqualTheDenseWindow) {
  for (int i = 0; i < test::case_count(6); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const Network network = test::random_network(random, 16);
    SearchOptions options;
    options.memory_limit = std::int64_t{1} << 27;
    options.max_extent = 40;
    const std::unique_ptr<CostSource> costs = modelled_costs();
    const Result<std::vector<Plan>> plans =
        draw_plans(network, device_->spec(), catalogue_, *costs, options, {.count = 4, .seed = seed});
    ASSERT_TRUE(plans) << plans.error().message;
    EXPECT_FALSE(plans->empty()) << in_words(network);
    for (const Plan& plan : *plans) {
      SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + in_words(network) + in_words(plan));
      expect_exact(network, plan, random);
    }
  }
}

TEST_F(CpuPlan, AnyPlanarPrimitivesEqualTheDenseWindow) {
  for (int i = 0; i < test::case_count(15); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const Network network = test::random_network(random, 16);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + in_words(network));
    const GeometryChoice choice = test::random_choice(network, random, random.integer(1, 2));
    const Result<Plan> plan = test::hand_plan(network, {choice}, catalogue_, device_->spec(), random);
    ASSERT_TRUE(plan) << plan.error().message;
    expect_exact(network, *plan, random);
  }
}

TEST_F(CpuPlan, EveryArenaOfASearchedPlanReachesWhatItsCallDeclared) {
  const Network network = test::simple_network(2, Vec3::cube(3), 20);
  const NetworkWeights weights = random_weights(network, 1);
  const Result<Plan> plan = search_plan(network, std::int64_t{64} << 20, Strategy::cpu);
  ASSERT_TRUE(plan) << plan.error().message;
  for (const Rung& rung : plan->ladder) {
    Result<RungDesign> design = design_rung(network, rung, catalogue_, device_->spec());
    ASSERT_TRUE(design) << design.error().message;
    const Result<Reservation> block = device_->reserve(MemorySpace::host, design->packing.bytes, "test");
    const std::vector<Call> calls = design->whole.schedule.calls;
    Result<PreparedSchedule> prepared =
        PreparedSchedule::open(std::move(*design), weights, block->data(), *device_, test::nans);
    ASSERT_TRUE(prepared) << prepared.error().message;
    std::fill_n(prepared->input().data, elements(prepared->input().shape), 0.5F);
    for (std::size_t pass = 0; pass < prepared->geometry().passes.size(); ++pass) {
      ASSERT_TRUE(prepared->run_pass(pass, {}));
    }
    EXPECT_EQ(prepared->persistent_bytes(), rung.memory.persistent);
    EXPECT_EQ(block->bytes(), rung.memory.transient);
    const std::vector<PreparedSchedule::CallMemory> memory = prepared->call_memory();
    for (std::size_t i = 0; i < memory.size(); ++i) {
      EXPECT_EQ(memory[i].high_water, memory[i].declared_peak) << calls[i].primitive->name;
    }
  }
}

}  // namespace
}  // namespace znni
