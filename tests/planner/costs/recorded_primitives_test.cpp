#include "planner/costs/recorded_primitives.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

#include "planner/search/search.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

Machine machine() {
  MachineDevice cpu;
  cpu.spec.name = "there";
  cpu.spec.threads = 72;
  cpu.bytes[0] = std::int64_t{1} << 38;
  MachineDevice gpu;
  gpu.spec.name = "card";
  gpu.spec.kind = DeviceKind::gpu;
  gpu.bytes[2] = std::int64_t{1} << 33;
  return {"box", {cpu, gpu}, {}};
}

TimingRecord record(const std::string& name, const LayerProblem& problem, Seconds seconds, const std::string& device) {
  TimingRecord made;
  made.primitive = name;
  made.version = 1;
  made.problem = to_string(problem);
  made.device = device;
  made.threads = device == "there" ? 72 : 1;
  made.samples = {seconds};
  made.memory = {{MemorySpace::host, 1000, 100}, {MemorySpace::device, 5000, 0}};
  return made;
}

LayerProblem conv_problem(std::int64_t edge, std::int64_t f = 2, std::int64_t f_out = 3) {
  return ConvProblem{{1, f, Vec3::cube(edge)}, f_out, Vec3::cube(2), Vec3::cube(1), Vec3::cube(1), {}};
}

// Returns timings of a nanosecond an operation, in five sizes.
Timings timings() {
  Timings all;
  for (const std::int64_t edge : {4, 8, 12, 16, 24, 32}) {
    all.insert(record("there.conv", conv_problem(edge), 1e-9 * direct_flops(conv_problem(edge)), "there"));
    all.insert(record("card.conv", conv_problem(edge), 1e-12 * direct_flops(conv_problem(edge)), "card"));
  }
  return all;
}

RecordedPrimitives made() {
  const Catalogue known = drawn::catalogue();
  Result<RecordedPrimitives> made = RecordedPrimitives::make(timings(), machine(), known.primitives());
  EXPECT_TRUE(made) << made.error().message;
  return *std::move(made);
}

const Primitive& find_recorded(const RecordedPrimitives& recorded, std::string_view name) {
  for (const Primitive* primitive : recorded.backend().primitives) {
    if (primitive->name == name) return *primitive;
  }
  ADD_FAILURE() << "no primitive " << name;
  return drawn::conv;
}

TEST(PlannerRecordedPrimitives, DescribeWhatLiesBetweenRows) {
  const RecordedPrimitives recorded = made();
  const Primitive& primitive = find_recorded(recorded, "there.conv");
  EXPECT_EQ(primitive.device, DeviceKind::cpu);
  EXPECT_EQ(find_recorded(recorded, "card.conv").device, DeviceKind::gpu);
  const Result<std::vector<Estimate>> estimates = primitive.describe(conv_problem(10), machine().devices[0].spec);
  ASSERT_TRUE(estimates) << estimates.error().message;
  ASSERT_EQ(estimates->size(), 1U);
  EXPECT_NEAR(estimates->front().time / (1e-9 * direct_flops(conv_problem(10))), 1, 1e-9);
  EXPECT_EQ(estimates->front().spread, Vec3::cube(8)) << "it may be a transform of the whole input";
  EXPECT_GE(persistent_bytes(estimates->front().memory), 100);
  EXPECT_GE(peak(estimates->front().memory), tensor_bytes(input_shape(conv_problem(10), 0), {}) + 1000);
  EXPECT_GE(peak(estimates->front().memory, MemorySpace::device), 5000);
  const auto card = find_recorded(recorded, "card.conv").describe(conv_problem(10), machine().devices[1].spec);
  EXPECT_GE(peak(card->front().memory, MemorySpace::device), tensor_bytes(input_shape(conv_problem(10), 0), {}) + 5000);
}

TEST(PlannerRecordedPrimitives, CostsTellRowsFromWhatLiesBeyond) {
  const RecordedPrimitives recorded = made();
  const Primitive& primitive = find_recorded(recorded, "there.conv");
  const std::unique_ptr<CostSource> costs = recorded.costs(modelled_costs());
  const auto cost = [&](const LayerProblem& problem) {
    const auto estimates = primitive.describe(problem, machine().devices[0].spec);
    return costs->cost(problem, primitive, estimates->front());
  };
  EXPECT_EQ(cost(conv_problem(8)).basis, Basis::recorded);
  EXPECT_EQ(cost(conv_problem(10)).basis, Basis::recorded);
  EXPECT_EQ(cost(conv_problem(10)).error, 0.02);  // rows on a straight line
  EXPECT_EQ(cost(conv_problem(64)).basis, Basis::model);
  const ConvProblem slab{{1, 2, {3, 16, 16}}, 3, Vec3::cube(2), Vec3::cube(1), Vec3::cube(1), {}};
  EXPECT_EQ(cost(slab).basis, Basis::model) << "cubes alone are recorded";
  const ConvProblem two{{2, 2, Vec3::cube(8)}, 3, Vec3::cube(2), Vec3::cube(1), Vec3::cube(1), {}};
  EXPECT_EQ(cost(two).basis, Basis::model) << "S of 1 alone is recorded";
  EXPECT_EQ(cost(conv_problem(10, 4, 4)).basis, Basis::model);  // another family: by operation and window
  EXPECT_EQ(cost(conv_problem(10, 4, 4)).error, 0.02);          // and no second family to learn from
  const Estimate drawn = drawn::make_estimate(conv_problem(8), {}, {}, 1);
  EXPECT_EQ(costs->cost(conv_problem(8), drawn::conv, drawn).seconds, drawn.time);
}

TEST(PlannerRecordedPrimitives, RefuseWhatNoRowIsLike) {
  const RecordedPrimitives recorded = made();
  const LayerProblem other = ConvProblem{{1, 2, Vec3::cube(9)}, 3, Vec3::cube(3), Vec3::cube(1), Vec3::cube(1), {}};
  const auto refused = find_recorded(recorded, "there.conv").describe(other, machine().devices[0].spec);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "no record of conv 2 -> 3, k 3x3x3, nor of another conv k 3x3x3");
}

TEST(PlannerRecordedPrimitives, RefuseSizesThatAreRecordedToBeTooLarge) {
  Timings all = timings();
  TimingRecord limit = record("card.conv", conv_problem(28), 0, "card");
  limit.samples.clear();
  limit.refused = true;
  all.insert(limit);
  const RecordedPrimitives recorded = RecordedPrimitives::make(all, machine(), {}).value();
  const DeviceSpec card = machine().devices[1].spec;
  EXPECT_TRUE(find_recorded(recorded, "card.conv").describe(conv_problem(27), card));
  for (const std::int64_t edge : {28, 29, 64}) {
    const auto refused = find_recorded(recorded, "card.conv").describe(conv_problem(edge), card);
    ASSERT_FALSE(refused) << edge;
    EXPECT_EQ(refused.error().message, "recorded to refuse layers of this size");
  }
  EXPECT_TRUE(find_recorded(recorded, "card.conv").describe(conv_problem(64, 4, 4), card)) << "another kind of layer";
  EXPECT_TRUE(find_recorded(recorded, "there.conv").describe(conv_problem(64), machine().devices[0].spec));
}

TEST(PlannerRecordedPrimitives, TakePartInASearch) {
  const RecordedPrimitives recorded = made();
  const std::array<const Backend*, 2> backends = {&drawn::backend, &recorded.backend()};
  const Catalogue catalogue = Catalogue::make(backends, {"there.conv", "drawn.rest"}).value();
  const std::unique_ptr<CostSource> costs = recorded.costs(modelled_costs());
  Network network;
  network.name = "one";
  network.f_in = 2;
  network.nodes = {{"conv1", drawn::convolution(3, Vec3::cube(2)), {0}}};
  SearchOptions options;
  options.memory_limit = 1 << 20;
  options.max_extent = 20;
  const DeviceSpec spec = machine().devices[0].spec;
  const Result<Plan> plan = search(network, spec, catalogue, *costs, options);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->ladder.front().segments.front().steps.back().primitive, "there.conv");
  EXPECT_EQ(plan->predicted.basis, Basis::recorded);
  EXPECT_GT(plan->predicted.error, 0);
}

// Returns a time that grows a little faster than work, so that the best patch is neither the smallest nor the largest.
Seconds true_seconds(const LayerProblem& problem) { return 1e-6 + 1e-11 * std::pow(direct_flops(problem), 1.15); }

Network three_convolutions() {
  Network network;
  network.name = "three";
  network.f_in = 2;
  network.nodes = {{"conv1", drawn::convolution(4, Vec3::cube(3)), {0}},
                   {"conv2", drawn::convolution(4, Vec3::cube(3)), {1}},
                   {"conv3", drawn::convolution(3, Vec3::cube(3)), {2}}};
  return network;
}

// Returns rows of each layer of the network in cubes, with 5 % of noise. With `repeats` samples of a row that agree to
// the last bit, noise looks as if it were real.
Timings noisy_rows(const Network& network, std::mt19937_64& random, std::size_t repeats) {
  std::normal_distribution<double> noise(0, 0.05);
  Timings all;
  for (std::int64_t edge = 10; edge <= 70; edge += 3) {
    const Result<Geometry> geometry = make_geometry(network, {Vec3::cube(edge), 1, {}});
    for (const LayerProblem& problem : geometry->problems) {
      TimingRecord row = record("there.conv", problem, true_seconds(problem) * std::exp(noise(random)), "there");
      row.samples.resize(repeats, row.samples.front());
      all.insert(row);
    }
  }
  return all;
}

Result<Plan> plan_by(const Timings& timings, const Network& network) {
  const RecordedPrimitives recorded = RecordedPrimitives::make(timings, machine(), {}).value();
  const std::array<const Backend*, 1> backends = {&recorded.backend()};
  SearchOptions options;
  options.memory_limit = std::int64_t{1} << 34;
  options.strategy = Strategy::layerwise;
  options.pins.streams = false;
  options.max_extent = 70;
  options.max_S = 1;
  options.ladder = false;
  const std::unique_ptr<CostSource> costs = recorded.costs(modelled_costs());
  return search(network, machine().devices[0].spec, Catalogue::make(backends).value(), *costs, options);
}

// Returns the rate that a plan would reach if its layers took their true times.
double true_rate(const Plan& plan, const Network& network) {
  const Rung& rung = plan.ladder.front();
  Seconds seconds = rung.seconds;
  for (const Step& step : rung.segments.front().steps) seconds -= step.seconds;
  const Geometry geometry = make_geometry(network, rung.geometry).value();
  for (const LayerProblem& problem : geometry.problems) seconds += true_seconds(problem);
  return plan.predicted.voxels_per_second * rung.seconds / seconds;
}

struct MeanRates {
  double promise = 0;  // of predicted over true rates
  double reached = 0;  // of true rates
};

MeanRates mean_rates(std::size_t repeats) {
  constexpr int draws = 24;
  const Network network = three_convolutions();
  std::mt19937_64 random(7);
  MeanRates mean;
  for (int draw = 0; draw < draws; ++draw) {
    const Result<Plan> plan = plan_by(noisy_rows(network, random, repeats), network);
    EXPECT_TRUE(plan) << plan.error().message;
    const double reached = true_rate(*plan, network);
    mean.promise += plan->predicted.voxels_per_second / reached / draws;
    mean.reached += reached / draws;
  }
  return mean;
}

TEST(PlannerRecordedPrimitives, TheChosenPlanIsNotTheLuckiest) {
  const MeanRates likely = mean_rates(1);
  const MeanRates believed = mean_rates(9);
  EXPECT_NEAR(likely.promise, 1, 0.01);
  EXPECT_GT(believed.promise, 1.02) << "noise that is taken to be real promises too much";
  EXPECT_GE(likely.reached, believed.reached);
}

TEST(PlannerRecordedPrimitives, TimesWithoutTheirNoiseAreSaidToBe) {
  const Network network = three_convolutions();
  std::mt19937_64 random(1);
  const Result<Plan> plan = plan_by(noisy_rows(network, random, 1), network);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->predicted.basis, Basis::smoothed);
  EXPECT_EQ(to_string(plan->predicted.basis), "recorded, smoothed");
  EXPECT_GT(plan->predicted.error, 0.03);
}

TEST(PlannerRecordedPrimitives, RowsThatMakeNoSenseAreNamed) {
  const auto refused = [](const TimingRecord& bad) {
    Timings all = timings();
    all.insert(bad);
    return RecordedPrimitives::make(all, machine(), {}).error().message;
  };
  TimingRecord bad = record("x", conv_problem(8), 1, "there");
  bad.problem = "convolve";
  EXPECT_NE(refused(bad).find("record 12 (x): problem 'convolve' is not understood"), std::string::npos);
  bad = record("x", conv_problem(8), 0, "there");
  EXPECT_NE(refused(bad).find("no time above 0"), std::string::npos);
  bad = record("there.conv", conv_problem(99), 1, "there");
  bad.version = 2;
  EXPECT_NE(refused(bad).find("version is 2, earlier 1"), std::string::npos);
  bad = record("there.conv", conv_problem(98), 1, "card");
  EXPECT_NE(refused(bad).find("earlier one of another kind"), std::string::npos);
}

TEST(PlannerRecordedPrimitives, MoreThanFitAreRefusedAndPlacesAreGivenBack) {
  for (int round = 0; round < 3; ++round) {
    Timings many;
    for (std::size_t i = 0; i <= RecordedPrimitives::most; ++i) {
      many.insert(record("p" + std::to_string(i), conv_problem(8), 1, "there"));
    }
    EXPECT_FALSE(RecordedPrimitives::make(many, machine(), {}));
    EXPECT_EQ(made().backend().primitives.size(), 2U);
  }
}

TEST(PlannerRecordedPrimitives, RecordsOfKnownPrimitivesGetTheFormulasTime) {
  const Estimate way = drawn::make_estimate(conv_problem(8), {}, {}, 1);
  TimingRecord own = record("drawn.conv.a", conv_problem(8), 5, "there");
  own.variant = way.variant;
  Timings all;
  all.insert(own);
  const Catalogue known = drawn::catalogue();
  DeviceSpec there;
  there.name = "there";
  for (const Seconds written : {0.0, 17.0}) {
    own.modelled = written;
    all.insert(own);
    EXPECT_EQ(with_formulas(all, {&there, 1}, known.primitives()).records().at(0).modelled, way.time);
    EXPECT_EQ(with_formulas(all, {}, known.primitives()).records().at(0).modelled, written);
  }
}

}  // namespace
}  // namespace znni
