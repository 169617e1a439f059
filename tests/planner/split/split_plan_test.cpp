#include "planner/split/split_plan.hpp"

#include <gtest/gtest.h>

#include "planner/plan/throughput.hpp"
#include "planner/search/candidates.hpp"
#include "tests/planner/recorded_machine.hpp"
#include "tests/support/random.hpp"

namespace znni {
namespace {

using test::gibibyte;

class PlannerSplitPlan : public testing::Test {
 protected:
  PlannerSplitPlan() {
    know(drawn::chain(3));
    options_.memory_limit = gibibyte;
    options_.max_extent = 40;
  }
  // Adds records of a network.
  void know(Network network) {
    network_ = std::move(network);
    recorded_ = RecordedPrimitives::make(test::recorded_rows(network_), test::recorded_machine(), {}).value();
    const std::array<const Backend*, 1> backends = {&recorded_.backend()};
    catalogue_ = Catalogue::make(backends).value();
  }
  Result<SplitPlan> plan(SplitStrategy strategy, std::int64_t device = gibibyte) {
    MachinePlaces places = places_of(test::recorded_machine()).value();
    places.memory.device = device;
    const std::unique_ptr<CostSource> costs = recorded_.costs(modelled_costs());
    return plan_split(network_, catalogue_, *costs, places, strategy, options_);
  }

  Network network_;
  RecordedPrimitives recorded_;
  Catalogue catalogue_;
  SearchOptions options_;
};

TEST_F(PlannerSplitPlan, MoreFreedomIsNeverSlower) {
  double before = 0;
  for (const SplitStrategy strategy : {SplitStrategy::gpu, SplitStrategy::gpu_host_ram, SplitStrategy::cpu_gpu}) {
    const Result<SplitPlan> made = plan(strategy);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_GE(made->plan.predicted.voxels_per_second, before);
    EXPECT_EQ(made->plan.key.strategy, to_string(strategy));
    EXPECT_EQ(made->plan.key.nodes, describe(network_));
    before = made->plan.predicted.voxels_per_second;
  }
  EXPECT_GT(before, 0);
}

TEST_F(PlannerSplitPlan, APatchWhoseLayersAreRecordedIsSaidToBe) {
  options_.pins.modes.assign(pooling_nodes(network_).size(), PoolMode::fragments);
  options_.pins.patch = Vec3::cube(legal_extents(network_, options_.pins.modes, 2, 40).back());
  options_.pins.S = 1;
  options_.pins.streams = false;
  const Result<SplitPlan> cube = plan(SplitStrategy::gpu);
  ASSERT_TRUE(cube) << cube.error().message;
  EXPECT_EQ(cube->plan.predicted.basis, Basis::recorded);
}

TEST_F(PlannerSplitPlan, TheGpuAloneHasOneSegment) {
  const Result<SplitPlan> made = plan(SplitStrategy::gpu);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->plan.ladder.front().segments.size(), 1U);
  EXPECT_EQ(made->plan.ladder.front().segments.front().place, Place::gpu);
  EXPECT_EQ(made->theta, 0);
  const std::string text = split_summary(*made);
  EXPECT_NE(text.find("nodes 0 to 2 on gpu"), std::string::npos) << text;
  EXPECT_NE(text.find("device "), std::string::npos) << text;
}

TEST_F(PlannerSplitPlan, LimitsHoldAndLessIsNeverFaster) {
  double before = 1e300;
  for (std::int64_t device = gibibyte; device > 1 << 12; device /= 8) {
    const Result<SplitPlan> made = plan(SplitStrategy::cpu_gpu, device);
    if (!made) break;
    EXPECT_LE(made->bytes.device, device);
    EXPECT_LE(made->plan.memory.total(), options_.memory_limit);
    EXPECT_LE(made->plan.predicted.voxels_per_second, before);
    before = made->plan.predicted.voxels_per_second;
  }
  EXPECT_LT(before, 1e300);
}

// In little memory a stream wastes less: it is chosen, and never slower than patches.
TEST_F(PlannerSplitPlan, StreamsWhereThatIsFaster) {
  int streamed = 0;
  for (std::int64_t device = std::int64_t{1} << 21; device <= std::int64_t{1} << 23; device *= 2) {
    const Result<SplitPlan> made = plan(SplitStrategy::gpu, device);
    options_.strategy = Strategy::patches;
    const Result<SplitPlan> patches = plan(SplitStrategy::gpu, device);
    options_.strategy = Strategy::cpu;
    ASSERT_TRUE(made && patches);
    EXPECT_FALSE(patches->plan.ladder.front().geometry.streamed);
    EXPECT_GE(made->plan.predicted.voxels_per_second, patches->plan.predicted.voxels_per_second);
    if (!made->plan.ladder.front().geometry.streamed) continue;
    ++streamed;
    EXPECT_LE(made->bytes.device, device);
    EXPECT_LT(made->plan.predicted.border_cost, patches->plan.predicted.border_cost);
    const GpuOffer offer{places_of(test::recorded_machine())->specs.gpu, device, gibibyte};
    const DeviceSpec cpu = places_of(test::recorded_machine())->specs.cpu;
    const PlanCheck checked = check(made->plan, network_, catalogue_, cpu, options_.memory_limit, &offer);
    EXPECT_NE(checked.fit, PlanFit::does_not_run) << checked.reason;
  }
  EXPECT_GT(streamed, 0);
}

TEST_F(PlannerSplitPlan, PatchesFitTheVolume) {
  options_.volume = Vec3{9, 70, 30};
  const SplitPlan made = plan(SplitStrategy::gpu).value();
  const Vec3 patch = made.plan.ladder.front().geometry.pass_input;
  EXPECT_LT(patch.z, patch.x);
  EXPECT_EQ(made.plan.key.volume, options_.volume);
  const Geometry geometry = make_geometry(network_, made.plan.ladder.front().geometry).value();
  EXPECT_DOUBLE_EQ(made.plan.predicted.endless_voxels_per_second,
                   endless_rate(geometry, made.plan.ladder.front().seconds));
  const std::unique_ptr<CostSource> costs = recorded_.costs(modelled_costs());
  const std::vector<Candidate> cubes = split_cubes(
      network_, catalogue_, *costs, places_of(test::recorded_machine()).value(), SplitStrategy::gpu, options_);
  ASSERT_FALSE(cubes.empty());
  for (const Candidate& cube : cubes) {
    EXPECT_EQ(cube.choice.pass_input, Vec3::cube(cube.choice.pass_input.x));
    EXPECT_LE(cube.voxels_per_second, made.plan.predicted.voxels_per_second);
  }
}

TEST_F(PlannerSplitPlan, NetsOfFewerAxesHaveCubesToo) {
  const MachinePlaces places = places_of(test::recorded_machine()).value();
  for (const int rank : {1, 2}) {
    know(drawn::chain_of_rank(rank));
    const std::unique_ptr<CostSource> costs = recorded_.costs(modelled_costs());
    const std::vector<Candidate> cubes =
        split_cubes(network_, catalogue_, *costs, places, SplitStrategy::gpu, options_);
    ASSERT_GT(cubes.size(), 3U);
    for (const Candidate& cube : cubes) EXPECT_TRUE(is_cube(cube.choice.pass_input, rank));
  }
}

// Few of many candidates are looked at so.
TEST_F(PlannerSplitPlan, NetsOfFewerAxesRunThroughHostRamToo) {
  for (const int rank : {1, 2}) {
    know(drawn::chain_of_rank(rank));
    options_.max_extent = 400;
    ASSERT_GT(make_candidates(network_, options_).size(), 256U);
    int only_so = 0;
    for (std::int64_t device = 16; device <= 1024; device *= 2) {
      only_so += plan(SplitStrategy::gpu_host_ram, device) && !plan(SplitStrategy::gpu, device) ? 1 : 0;
    }
    EXPECT_GT(only_so, 0) << rank;
  }
}

TEST_F(PlannerSplitPlan, SmallerRungsShareTheLimits) {
  const MachinePlaces places = places_of(test::recorded_machine()).value();
  for (const SplitStrategy strategy : {SplitStrategy::gpu, SplitStrategy::cpu_gpu}) {
    const SplitPlan made = plan(strategy).value();
    const std::vector<Rung>& ladder = made.plan.ladder;
    const auto with_gpu = std::count_if(ladder.begin(), ladder.end(), [](const Rung& rung) { return !on_cpu(rung); });
    EXPECT_GT(with_gpu, 2);
    SpaceBytes sum;
    for (std::ptrdiff_t i = 0; i < with_gpu; ++i) {
      const Rung& rung = ladder[static_cast<std::size_t>(i)];
      sum = sum.plus(pipeline_bytes(take_apart(network_, rung, catalogue_, places.specs).value()));
      if (i == 0) continue;
      EXPECT_FALSE(rung.geometry.streamed);
      const Rung& before = ladder[static_cast<std::size_t>(i) - 1];
      if (before.geometry.streamed) continue;
      EXPECT_LT(voxels(rung.geometry.pass_input), voxels(before.geometry.pass_input));
    }
    EXPECT_EQ(made.bytes, sum);
    GpuOffer offer{places.specs.gpu, sum.device, sum.pinned};
    const auto answer = [&] {
      return check(made.plan, network_, catalogue_, places.specs.cpu, options_.memory_limit, &offer).reason;
    };
    EXPECT_EQ(answer(), "");
    SplitPlan understated = made;
    understated.plan.memory.transient = add(sum.host, sum.pinned) - 1;
    EXPECT_NE(check(understated.plan, network_, catalogue_, places.specs.cpu, options_.memory_limit, &offer).reason,
              "");
    --offer.device_bytes;
    EXPECT_NE(answer().find("rung " + std::to_string(with_gpu - 1) + ": needs, with the rungs before it"),
              std::string::npos)
        << answer();
  }
}

TEST_F(PlannerSplitPlan, ATightCardLeavesNoRoomForSmallerRungs) {
  const SplitPlan free = plan(SplitStrategy::gpu).value();
  const SpaceBytes first = pipeline_bytes(
      take_apart(network_, free.plan.ladder.front(), catalogue_, places_of(test::recorded_machine()).value().specs)
          .value());
  const SplitPlan tight = plan(SplitStrategy::gpu, first.device).value();
  EXPECT_EQ(tight.plan.predicted, free.plan.predicted);
  EXPECT_EQ(tight.bytes, first);
}

// Every candidate without any bound, one after the other.
TEST_F(PlannerSplitPlan, IsTheBestOfAllCandidates) {
  const MachinePlaces places = places_of(test::recorded_machine()).value();
  const std::unique_ptr<CostSource> costs = recorded_.costs(modelled_costs());
  options_.max_extent = 24;
  options_.max_S = 2;
  options_.stem_slab = 0;
  options_.ladder = false;
  const std::int64_t host = (options_.memory_limit - weight_bytes(network_)) / 8 * 7;
  for (const std::int64_t device : {std::int64_t{1} << 19, gibibyte}) {
    SplitSearch search(network_, catalogue_, *costs, places.specs, {true, true});
    double best = 0;
    int streams = 0;
    for (const GeometryChoice& choice : make_candidates(network_, options_)) {
      const auto holds = [](const PoolingMode& mode) { return mode.holds(); };
      if (std::any_of(choice.modes.begin(), choice.modes.end(), holds)) continue;
      const Geometry geometry = make_geometry(network_, choice).value();
      const Result<SplitChoice> found = search.best(geometry, {host, host, device});
      if (!found) continue;
      streams += choice.streamed ? 1 : 0;
      best = std::max(best, useful_voxels(geometry, reaches(network_).back().fov, {}) / found->rung.seconds);
    }
    EXPECT_GT(streams, 0);
    const SplitPlan made = plan(SplitStrategy::cpu_gpu, device).value();
    EXPECT_DOUBLE_EQ(made.plan.predicted.voxels_per_second, best);
  }
}

// Draws pins so that each stands beside each other one.
Pins drawn_pins(int number) {
  Pins pins;
  if (number % 2 == 0) pins.theta = std::to_string(number / 2 % 4);
  if (number % 3 == 0) pins.modes = {number % 4 == 0 ? PoolMode::plain : PoolMode::fragments};
  if (number % 5 == 0) pins.S = 1 + number % 3;
  if (number % 7 == 0) pins.patch = Vec3::cube(number % 2 == 0 ? 6 : 8);
  pins.streams = number % 4 != 1;
  pins.groups = number % 6 != 5;
  return pins;
}

// Returns true if a choice satisfies the pins, theta aside.
bool satisfies(const Pins& pins, const Geometry& geometry) {
  const GeometryChoice& choice = geometry.choice;
  const auto in_groups = [](const PoolingMode& mode) { return mode.groups != Vec3::cube(1); };
  if (pins.patch && geometry.patch_input != *pins.patch) return false;
  if (!pins.modes.empty() && choice.modes != pins.modes) return false;
  if (choice.streamed && !pins.streams) return false;
  return pins.groups || std::none_of(choice.modes.begin(), choice.modes.end(), in_groups);
}

// All choices without a bound, one after the other, through every cut where theta is not pinned.
TEST_F(PlannerSplitPlan, IsTheBestOfAllThatSatisfyThePins) {
  const MachinePlaces places = places_of(test::recorded_machine()).value();
  const std::unique_ptr<CostSource> costs = recorded_.costs(modelled_costs());
  options_.max_extent = 8;
  options_.max_S = 2;
  options_.stem_slab = 0;
  options_.ladder = false;
  const std::int64_t host = (options_.memory_limit - weight_bytes(network_)) / 8 * 7;
  SearchOptions free = options_;
  free.max_S = 4;
  const std::vector<GeometryChoice> candidates = make_candidates(network_, free);
  ASSERT_LT(candidates.size(), 1024U) << "all are looked at with layers through host RAM where theta is pinned";
  int planned = 0;
  for (int number = 0; number < test::case_count(60); ++number) {
    const SplitStrategy strategy = number % 3 == 2 ? SplitStrategy::gpu_host_ram : SplitStrategy::cpu_gpu;
    options_.pins = drawn_pins(number);
    SCOPED_TRACE(to_string(options_.pins));
    CutLimits limits{strategy == SplitStrategy::cpu_gpu, true, {}};
    if (!options_.pins.theta.empty()) limits.until = std::stoi(options_.pins.theta);
    SplitSearch search(network_, catalogue_, *costs, places.specs, limits);
    double best = 0;
    for (GeometryChoice choice : candidates) {
      if (choice.S != 1 && (choice.S > options_.max_S || options_.pins.S)) continue;
      if (options_.pins.S && (!choice.streamed || *options_.pins.S == 1)) choice.S = *options_.pins.S;
      if (options_.pins.S && choice.S != *options_.pins.S) continue;
      const auto holds = [](const PoolingMode& mode) { return mode.holds(); };
      if (std::any_of(choice.modes.begin(), choice.modes.end(), holds)) continue;
      const Geometry geometry = make_geometry(network_, choice).value();
      if (!satisfies(options_.pins, geometry)) continue;
      const Result<SplitChoice> found = search.best(geometry, {host, host, gibibyte});
      if (found) best = std::max(best, useful_voxels(geometry, reaches(network_).back().fov, {}) / found->rung.seconds);
    }
    const Result<SplitPlan> made = plan(strategy);
    ASSERT_EQ(made.has_value(), best > 0) << (made ? "" : made.error().message);
    if (!made) continue;
    ++planned;
    EXPECT_DOUBLE_EQ(made->plan.predicted.voxels_per_second, best);
    EXPECT_EQ(made->plan.key.pins, to_string(options_.pins));
    if (limits.until) {
      EXPECT_EQ(made->theta, *limits.until);
    }
  }
  EXPECT_GT(planned, test::case_count(60) / 3);
}

TEST_F(PlannerSplitPlan, RungsOfTheCpuBehindTheGpuAreNotPinned) {
  options_.pins.theta = "1";
  options_.pins.modes = {PoolMode::plain};
  const SplitPlan made = plan(SplitStrategy::cpu_gpu).value();
  EXPECT_EQ(made.no_fallback, "");
  for (const Rung& rung : made.plan.ladder) {
    if (on_cpu(rung)) continue;
    EXPECT_EQ(rung.geometry.modes, options_.pins.modes);
    EXPECT_EQ(rung.segments.back().first, 1);
  }
  options_.pins.patch = Vec3::cube(4);
  EXPECT_NE(plan(SplitStrategy::gpu).error().message.find("--theta 1"), std::string::npos);
  options_.pins.theta = "";
  EXPECT_NE(plan(SplitStrategy::gpu).error().message.find("--patch 4: no patch"), std::string::npos);
}

TEST_F(PlannerSplitPlan, SaysThatItWasStopped) {
  options_.stop = [] { return true; };
  const Result<SplitPlan> stopped = plan(SplitStrategy::gpu);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
}

// The message is the search's own: here no primitive of the CPU is known.
TEST_F(PlannerSplitPlan, SaysWhyNothingServesWhenTheGpuFails) {
  EXPECT_NE(split_summary(plan(SplitStrategy::gpu).value()).find(" rungs on the CPU"), std::string::npos);
  std::vector<const Primitive*> on_gpu;
  for (const Primitive* primitive : recorded_.backend().primitives) {
    if (primitive->device == DeviceKind::gpu) on_gpu.push_back(primitive);
  }
  const Backend gpu_alone{"gpu", nullptr, nullptr, on_gpu};
  const std::array<const Backend*, 1> backends = {&gpu_alone};
  catalogue_ = Catalogue::make(backends).value();
  const SplitPlan made = plan(SplitStrategy::gpu).value();
  EXPECT_NE(made.no_fallback.find("no patch of"), std::string::npos) << made.no_fallback;
  EXPECT_NE(split_summary(made).find("fallback   none: " + made.no_fallback), std::string::npos);
}

// Primitives in float32 alone give the same plan, which says what it might have used.
TEST_F(PlannerSplitPlan, KeepsThePrecisionThatWasAllowed) {
  const SplitPlan strict = plan(SplitStrategy::cpu_gpu).value();
  EXPECT_EQ(strict.plan.key.precision, Precision::fp32);
  options_.precision = Precision::bf16;
  const SplitPlan made = plan(SplitStrategy::cpu_gpu).value();
  EXPECT_EQ(made.plan.key.precision, Precision::bf16);
  EXPECT_EQ(made.plan.ladder, strict.plan.ladder);
}

TEST_F(PlannerSplitPlan, SaysWhyNothingFits) {
  const Result<SplitPlan> refused = plan(SplitStrategy::gpu, 100);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::over_budget);
  EXPECT_NE(refused.error().message.find("strategy gpu"), std::string::npos);
}

// Returns convolutions in a row: one tensor crosses a cut between any two of them.
Network run_of_convolutions() {
  Network network;
  network.name = "run";
  for (int node = 0; node < 6; ++node) {
    network.nodes.push_back({"conv" + std::to_string(node + 1), drawn::convolution(4, Vec3::cube(3)), {node}});
  }
  return network;
}

// A head on the CPU computes the next patch while the tail is on the GPU: the best cut lets both be busy.
TEST(PlannerSplitPlanGolden, ThetaLiesInsideARunOfConvolutions) {
  const Network network = run_of_convolutions();
  const RecordedPrimitives recorded =
      RecordedPrimitives::make(test::recorded_rows(network, 2), test::recorded_machine(), {}).value();
  const std::array<const Backend*, 1> backends = {&recorded.backend()};
  const Catalogue catalogue = Catalogue::make(backends).value();
  SearchOptions options;
  options.memory_limit = gibibyte;
  options.max_extent = 40;
  const std::unique_ptr<CostSource> costs = recorded.costs(modelled_costs());
  const SplitPlan made = plan_split(network, catalogue, *costs, places_of(test::recorded_machine()).value(),
                                    SplitStrategy::cpu_gpu, options)
                             .value();
  const Geometry geometry = make_geometry(network, made.plan.ladder.front().geometry).value();
  int best = -1;
  double least = 1e300;
  for (int theta = 0; theta <= 6; ++theta) {
    double head = 0;
    double tail = 0;
    for (int node = 0; node < 6; ++node) {
      const double seconds = 1e-10 * direct_flops(geometry.problems[static_cast<std::size_t>(node)]);
      (node < theta ? head : tail) += node < theta ? seconds : seconds / 2;
    }
    if (std::max(head, tail) < least) {
      least = std::max(head, tail);
      best = theta;
    }
  }
  EXPECT_GT(best, 0);
  EXPECT_LT(best, 6);
  EXPECT_EQ(made.theta, best);
  ASSERT_EQ(made.plan.ladder.front().segments.size(), 2U);
  EXPECT_EQ(made.plan.ladder.front().segments[0].place, Place::cpu);
  EXPECT_EQ(made.plan.ladder.front().segments[1].place, Place::gpu);
}

}  // namespace
}  // namespace znni
