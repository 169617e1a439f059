// Volumes whose voxels are of very different sizes: every voxel of the output is as exact as the largest values within
// the plan's reach of it allow, whatever stands elsewhere.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "planner/costs/costs.hpp"
#include "planner/measure/draw.hpp"
#include "planner/report/report.hpp"
#include "planner/search/search.hpp"
#include "primitives/core/fragments.hpp"
#include "primitives/cpu/backend.hpp"
#include "server/pipeline/engine.hpp"
#include "tests/server/pipeline/dense_bound.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"

namespace znni {
namespace {

using test::Random;
using test::RandomVolume;

// Draws a volume of deviation 1, with some blocks of voxels of 1e6 to 1e12.
RandomVolume uneven_volume(std::int64_t f, Vec3 n, Random& random) {
  RandomVolume volume = test::random_volume(f, n, ElementType::f32, random);
  for (std::int64_t blocks = random.integer(1, 3); blocks > 0; --blocks) {
    const float magnitude = std::pow(10.0F, static_cast<float>(random.integer(6, 12)));
    const Vec3 size = random.vec3(1, 4);
    const Vec3 room = n - size;
    const Vec3 first{random.integer(0, room.z), random.integer(0, room.y), random.integer(0, room.x)};
    for (std::int64_t i = 0; i < f * voxels(size); ++i) {
      const Vec3 at = first + fragment_at(i % voxels(size), size);
      std::byte* const element =
          volume.bytes.data() + test::voxel_index(volume.shape, i / voxels(size), at) * element_bytes(ElementType::f32);
      const float value = test::voxel(volume.bytes.data(), volume.shape, i / voxels(size), at) * magnitude;
      std::memcpy(element, &value, sizeof(value));
    }
  }
  return volume;
}

class LocalError : public testing::Test {
 protected:
  LocalError() {
    const Backend* const rows[] = {&cpu::backend()};
    catalogue_ = Catalogue::make(rows).value();
    device_ = cpu::backend().open(cpu::describe_cpu(1), std::int64_t{1} << 31, 0, 0).value();
  }

  // Returns the largest margin of all rungs: any of them may compute the volume.
  Vec3 margin_of(const Network& network, const Plan& plan) {
    Vec3 margin;
    for (const Rung& rung : plan.ladder) {
      Plan one = plan;
      one.ladder = {rung};
      const Result<PlanReport> report = make_report(network, one, catalogue_, device_->spec());
      EXPECT_TRUE(report) << report.error().message;
      margin = max(margin, report->rounding.margin);
    }
    return margin;
  }

  void expect_local(const Network& network, const Plan& plan, Random& random) {
    const NetworkWeights weights = random_weights(network, static_cast<std::uint64_t>(random.integer(1, 1000)));
    const Result<std::unique_ptr<Engine>> engine = Engine::open(network, weights, plan, catalogue_, *device_);
    ASSERT_TRUE(engine) << engine.error().message;
    const Vec3 n = (*engine)->field_of_view() + random.vec3(4, 26);
    const RandomVolume volume = uneven_volume(network.f_in, n, random);
    const test::JobOutcome outcome = test::run_job(**engine, volume.view());
    ASSERT_TRUE(outcome.statistics) << outcome.statistics.error().message;
    const oracle::Values values = test::volume_values(volume.view(), {});
    const oracle::Values exact = test::dense_oracle(network, weights, n, values);
    const std::vector<float> found = test::output_values(outcome);
    const Vec3 margin = margin_of(network, plan);
    EXPECT_EQ(beyond(found, exact, test::dense_bound(network, weights, n, values, margin)), 0)
        << to_string(n) << ", margin " << to_string(margin);
    beyond_view_ += beyond(found, exact, test::dense_bound(network, weights, n, values, {}));
  }

  // Counts the outputs that are further off than the bound of their voxel.
  static int beyond(const std::vector<float>& found, const oracle::Values& exact, const oracle::Values& bound) {
    int count = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      if (!(std::abs(static_cast<double>(found[i]) - exact[i]) <= bound[i % bound.size()])) ++count;
    }
    return count;
  }

  std::unique_ptr<Device> device_;
  Catalogue catalogue_;
  int beyond_view_ = 0;  // outputs that a sliding window would have computed better
};

std::string case_words(std::uint64_t seed, const Network& network) {
  std::string text = "ZNNI_TEST_SEED=" + std::to_string(seed);
  for (const std::string& line : describe(network)) text += "\n" + line;
  return text;
}

SearchOptions options_of(std::int64_t memory) {
  SearchOptions options;
  options.memory_limit = memory;
  options.max_extent = 48;
  return options;
}

TEST_F(LocalError, OfSearchedPlansStaysWithinTheirReach) {
  const std::unique_ptr<CostSource> costs = modelled_costs();
  for (int i = 0; i < test::case_count(6); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const Network network =
        i % 2 == 0 ? test::random_network(random, 18) : test::simple_network(1, Vec3::cube(random.integer(3, 5)), 16);
    SCOPED_TRACE(case_words(seed, network));
    const std::int64_t memory = std::int64_t{1} << random.integer(20, 26);
    const Result<Plan> plan = search(network, device_->spec(), catalogue_, *costs, options_of(memory));
    if (plan) expect_local(network, *plan, random);
  }
}

TEST_F(LocalError, OfDrawnPlansStaysWithinTheirReach) {
  const std::unique_ptr<CostSource> costs = modelled_costs();
  for (int i = 0; i < test::case_count(6); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const Network network = test::random_network(random, 14);
    const Result<std::vector<Plan>> plans = draw_plans(network, device_->spec(), catalogue_, *costs,
                                                       options_of(std::int64_t{1} << 27), {.count = 3, .seed = seed});
    ASSERT_TRUE(plans) << plans.error().message;
    for (const Plan& plan : *plans) {
      SCOPED_TRACE(case_words(seed, network));
      expect_local(network, plan, random);
    }
  }
}

// Transforms of whole inputs among them, in patches and streams. Some of their errors reach beyond the field of view:
// a margin of zeros would not do.
TEST_F(LocalError, OfAnyPlanarPrimitivesStaysWithinTheirReach) {
  for (int i = 0; i < test::case_count(16); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const Network network = test::random_network(random, 14);
    SCOPED_TRACE(case_words(seed, network));
    GeometryChoice choice = test::random_choice(network, random, random.integer(1, 2));
    if (i % 2 == 0) choice = test::random_stream(network, random).value_or(choice);
    const Result<Plan> plan = test::hand_plan(network, {choice}, catalogue_, device_->spec(), random);
    ASSERT_TRUE(plan) << plan.error().message;
    expect_local(network, *plan, random);
  }
  if (test::case_count(16) >= 16) {
    EXPECT_GT(beyond_view_, 0);
  }
}

}  // namespace
}  // namespace znni
