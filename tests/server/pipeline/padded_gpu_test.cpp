// Networks that pad and upsample as a whole on a simulated GPU, compared with their definition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

#include "planner/costs/costs.hpp"
#include "planner/layers/segments.hpp"
#include "planner/split/split_plan.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/server/pipeline/strided_network.hpp"
#include "tests/support/host_sim.hpp"

namespace znni {
namespace {

using test::error_of;
using test::in_words;
using test::PaddedNetwork;
using test::Random;
using test::random_extent;
using testing::HasSubstr;

using MakeNetwork = std::function<PaddedNetwork(Random&)>;

const std::vector<MakeNetwork>& all_kinds() {
  static const std::vector<MakeNetwork> kinds = {
      [](Random& random) { return test::random_padded_network(random); },
      [](Random& random) { return test::random_stacked_network(random); },
      [](Random& random) { return test::random_strided_network(random, false); },
      [](Random& random) { return test::random_strided_network(random, false, true); },
      [](Random& random) { return test::random_edged_network(random); },
      [](Random& random) { return test::random_reflecting_network(random); }};
  return kinds;
}

// Returns whether GPUs have the network's poolings: not dilated ones, nor averages that leave out their pads.
bool has_poolings_of_gpus(const Network& network) {
  return std::all_of(network.nodes.begin(), network.nodes.end(), [](const Node& node) {
    const auto* pool = std::get_if<Pooling>(&node.operation);
    return pool == nullptr || (pool->kind != PoolKind::average_inside && pool->dilation == Vec3::cube(1));
  });
}

// Draws a network, of one kind after the other, whose poolings GPUs have.
PaddedNetwork draw_for_gpu(int number, Random& random) {
  for (;;) {
    PaddedNetwork padded = all_kinds()[static_cast<std::size_t>(number) % all_kinds().size()](random);
    if (has_poolings_of_gpus(padded.network)) return padded;
  }
}

class PaddedOnGpu : public testing::Test {
 protected:
  // Runs the plan on a volume; returns its error over the largest value.
  double error_on_gpu(const LoadedNetwork& valid, const Plan& plan, const PaddedNetwork& padded, Random& random) {
    const auto engine = Engine::open(valid.network, valid.weights, plan, catalogue_, {*cpu_, gpu_.get()});
    if (!engine) {
      ADD_FAILURE() << engine.error().message;
      return 0;
    }
    const std::int64_t before = gpu_->pieces_of_work();
    const double error = error_of(**engine, padded, random_extent(valid.network, random), random);
    EXPECT_GT(gpu_->pieces_of_work(), before);
    EXPECT_FALSE((*engine)->gpu_lost());
    return error;
  }

  // Returns a plan for the GPU and, behind it, rungs on the CPU, of which the first is the fastest.
  Plan plan_of(const Network& network, const GeometryChoice& on_gpu, const std::vector<GeometryChoice>& on_cpu) {
    Plan plan = test::mixed_plan(network, on_gpu, 0, cpu_->spec(), gpu_->spec(), on_cpu);
    for (std::size_t i = 2; i < plan.ladder.size(); ++i) plan.ladder[i].seconds *= 1000;
    return plan;
  }

  // Runs a job whose GPU fails at a piece of work. Returns false if the job says that it must begin again.
  bool goes_on(const LoadedNetwork& valid, const Plan& plan, int piece, const PaddedNetwork& padded, Vec3 n) {
    test::HostSim gpu;
    const auto engine = Engine::open(valid.network, valid.weights, plan, catalogue_, {*cpu_, &gpu});
    if (!engine) throw std::runtime_error(engine.error().message);
    gpu.fail_work(piece);
    Random random(7);
    try {
      EXPECT_LE(error_of(**engine, padded, n, random), 1e-5) << "piece " << piece;
      return true;
    } catch (const std::runtime_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("run the job again"));
      EXPECT_TRUE((*engine)->gpu_lost());
      return false;
    }
  }

  // Returns options for batches of S patches.
  static SearchOptions search_options(const Network& network, std::int64_t S) {
    SearchOptions options;
    options.pins.S = S;
    options.memory_limit = std::int64_t{1} << 26;
    const Vec3 least = min_extent(network);
    options.max_extent = std::max({std::int64_t{40}, least.z, least.y, least.x});
    options.ladder = false;
    return options;
  }
  MachinePlaces places(std::int64_t memory_limit) const {
    return {{cpu_->spec(), gpu_->spec()}, {memory_limit, std::int64_t{1} << 25, std::int64_t{1} << 25}};
  }

  // Searches a plan of batches of S patches.
  Result<SplitPlan> search_split(const Network& network, SplitStrategy strategy, std::int64_t S = 1,
                                 std::optional<Vec3> volume = {}) {
    SearchOptions options = search_options(network, S);
    options.volume = volume;
    if (volume) options.max_extent = std::max({options.max_extent, volume->z, volume->y, volume->x});
    const std::unique_ptr<CostSource> costs = modelled_costs();
    return plan_split(network, catalogue_, *costs, places(options.memory_limit), strategy, options);
  }

  const Catalogue catalogue_ = test::split_catalogue();
  const std::unique_ptr<Device> cpu_ = test::host_device(std::int64_t{1} << 28);
  const std::unique_ptr<test::HostSim> gpu_ = std::make_unique<test::HostSim>();
};

TEST_F(PaddedOnGpu, NetworksEqualTheirDefinition) {
  for (int i = 0; i < test::case_count(30); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const PaddedNetwork padded = draw_for_gpu(i, random);
    const LoadedNetwork valid = valid_form(padded, random.chance(0.5));
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + in_words(valid.network));
    const GeometryChoice choice = test::random_choice(valid.network, random, 1);
    if (choice.stem_slab != 0) continue;
    const Plan plan = test::mixed_plan(valid.network, choice, 0, cpu_->spec(), gpu_->spec(), false);
    EXPECT_LE(error_on_gpu(valid, plan, padded, random), 1e-5);
    if (HasFailure()) return;
  }
}

// Returns patches near the smallest, and one that has the whole volume along the axes along which the network pads.
std::pair<GeometryChoice, GeometryChoice> open_and_closed(const Network& network, Vec3 volume) {
  const std::vector<PoolingMode> modes(pooling_nodes(network).size(), PoolMode::fragments);
  const GeometryChoice open{reaches(network).back().fov + Vec3::cube(3), 1, modes};
  GeometryChoice closed{volume, 1, modes};
  closed.closed = axes_to_close(network, closed, volume);
  return {open, closed};
}

// A rung on the CPU that has the borders of the whole volume does not go on behind planes that the GPU delivered.
TEST_F(PaddedOnGpu, JobsGoOnInPatchesThatBeginAtAnyPlane) {
  int stopped = 0;
  for (int i = 0; i < test::case_count(6) || (stopped == 0 && i < 30); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const PaddedNetwork padded = draw_for_gpu(0, random);
    const LoadedNetwork valid = valid_form(padded, true);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + in_words(valid.network));
    const Vec3 around = valid.network.frame.begin + valid.network.frame.end;
    const Vec3 n = max(Vec3::cube(14), around + Vec3::cube(3));
    const auto [open, closed] = open_and_closed(valid.network, n + around);
    if (closed.closed.z == 0) continue;
    for (const int piece : {1, 40, 200, 400, 700}) {
      EXPECT_TRUE(goes_on(valid, plan_of(valid.network, open, {closed, open}), piece, padded, n));
      if (!goes_on(valid, plan_of(valid.network, open, {closed}), piece, padded, n)) ++stopped;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(stopped, 0);
}

TEST_F(PaddedOnGpu, JobsBehindPlaneZeroAreRefusedWhereAPatchHasTheWholeVolume) {
  int refused = 0;
  for (int i = 0; i < 12 && refused == 0; ++i) {
    Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const LoadedNetwork valid = valid_form(draw_for_gpu(0, random), true);
    const Vec3 around = valid.network.frame.begin + valid.network.frame.end;
    const Vec3 n = max(Vec3::cube(14), around + Vec3::cube(3));
    const auto [open, closed] = open_and_closed(valid.network, n + around);
    if (closed.closed.z == 0) continue;
    const Plan plan = plan_of(valid.network, open, {closed});
    const auto engine = Engine::open(valid.network, valid.weights, plan, catalogue_, {*cpu_, gpu_.get()});
    ASSERT_TRUE(engine) << engine.error().message;
    const test::RandomVolume volume = test::random_volume(valid.network.f_in, n, ElementType::f32, random);
    test::JobOutcome outcome;
    const Shape5 output{1, channels_of(valid.network).back(), n};
    VolumeJob job = recorded_job(volume.view(), output, ElementType::f32, VolumeOrder::plane_major, outcome);
    job.schedule.rung = 1;
    job.sink.first_plane = 1;
    const Result<JobStatistics> ran = (*engine)->run(job, {});
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().code, ErrorCode::invalid_argument);
    EXPECT_THAT(ran.error().message, HasSubstr("whole volume along z"));
    ++refused;
  }
  EXPECT_GT(refused, 0);
}

TEST_F(PaddedOnGpu, SearchedPlansEqualTheDefinition) {
  for (int i = 0; i < test::case_count(10); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const PaddedNetwork padded = draw_for_gpu(i, random);
    const LoadedNetwork valid = valid_form(padded, true);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + in_words(valid.network));
    const Result<SplitPlan> plan = search_split(valid.network, SplitStrategy::gpu, random.integer(1, 3));
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(plan->plan.ladder.front().segments.size(), 1U);
    EXPECT_EQ(plan->plan.ladder.front().segments.front().place, Place::gpu);
    EXPECT_LE(error_on_gpu(valid, plan->plan, padded, random), 1e-5);
    if (HasFailure()) return;
  }
}

// The patch that has all of a volume computes nothing twice: it is the fastest, and open along every axis.
TEST_F(PaddedOnGpu, AVolumeForWhichThePlanIsMadeIsOnePatch) {
  for (int i = 0; i < test::case_count(4); ++i) {
    Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const PaddedNetwork padded = draw_for_gpu(i, random);
    const LoadedNetwork valid = valid_form(padded, true);
    SCOPED_TRACE(in_words(valid.network));
    const Vec3 n = random_extent(valid.network, random);
    const Vec3 volume = framed(valid.network, n);
    const Result<SplitPlan> plan = search_split(valid.network, SplitStrategy::gpu, 1, volume);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->plan.ladder.front().geometry.pass_input, volume);
    EXPECT_EQ(plan->plan.ladder.front().geometry.closed, Vec3{});
    const auto engine = Engine::open(valid.network, valid.weights, plan->plan, catalogue_, {*cpu_, gpu_.get()});
    ASSERT_TRUE(engine) << engine.error().message;
    EXPECT_LE(error_of(**engine, padded, n, random), 1e-5);
  }
}

TEST_F(PaddedOnGpu, AreNotCut) {
  Random random(test::base_seed());
  const LoadedNetwork valid = valid_form(test::random_strided_network(random, false), true);
  for (const SplitStrategy strategy : {SplitStrategy::cpu_gpu, SplitStrategy::gpu_host_ram}) {
    const Result<SplitPlan> plan = search_split(valid.network, strategy);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
    EXPECT_THAT(plan.error().message, HasSubstr("--strategy gpu"));
  }
}

TEST_F(PaddedOnGpu, CubesAreThereWhereTheStrategyIs) {
  Random random(test::base_seed());
  const Network network = valid_form(draw_for_gpu(0, random), true).network;
  const SearchOptions options = search_options(network, 1);
  const std::unique_ptr<CostSource> costs = modelled_costs();
  const auto cubes = [&](SplitStrategy strategy) {
    return split_cubes(network, catalogue_, *costs, places(options.memory_limit), strategy, options);
  };
  EXPECT_FALSE(cubes(SplitStrategy::gpu).empty());
  EXPECT_TRUE(cubes(SplitStrategy::cpu_gpu).empty());
}

TEST_F(PaddedOnGpu, AreNotStreamed) {
  int refused = 0;
  for (int i = 0; i < 12; ++i) {
    Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const LoadedNetwork valid = valid_form(draw_for_gpu(0, random), true);
    const auto stream = test::random_stream(valid.network, random);
    if (!stream || is_dense(valid.network)) continue;
    const Result<Rung> rung = test::split_rung(valid.network, *stream, 0, 0, cpu_->spec(), gpu_->spec());
    ASSERT_TRUE(rung) << rung.error().message;
    const Result<RungSegments> parts =
        take_apart(valid.network, *rung, catalogue_, PlaceSpecs{cpu_->spec(), gpu_->spec()});
    ASSERT_FALSE(parts);
    EXPECT_THAT(parts.error().message, HasSubstr("in no stream"));
    ++refused;
  }
  EXPECT_GT(refused, 0);
}

TEST_F(PaddedOnGpu, NetworksThatAreBoundToTheirWindowRunOnTheCpu) {
  Network network;
  network.nodes.push_back({"mean", GlobalPool{}, {0}});
  const Result<void> taken = check_gpu_takes(network);
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message, HasSubstr("--strategy cpu"));
}

}  // namespace
}  // namespace znni
