// Networks that normalise over their window, compared with their definition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "planner/costs/costs.hpp"
#include "planner/network/tile_bound.hpp"
#include "planner/search/search.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/cpu_device.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/strided_network.hpp"

namespace znni {
namespace {

using test::EngineBench;
using test::PaddedNetwork;
using test::Random;
using testing::HasSubstr;

// An epsilon that keeps the deviation of few voxels from making rounding errors large.
Norm random_norm(std::int64_t f, Random& random) {
  const std::int64_t groups = f % 2 == 0 && random.chance(0.3) ? f / 2 : random.chance(0.3) ? 1 : f;
  return {groups, 0.25F, random.chance(0.3) ? test::random_activation(random) : Activation{}};
}

// Puts normalisations behind some nodes, one at least.
PaddedNetwork with_norms(const PaddedNetwork& padded, Random& random) {
  PaddedNetwork bound = padded;
  bound.network.nodes.clear();
  bound.pads.clear();
  std::vector<int> values = {0};
  const std::vector<std::int64_t> f = images(padded.network);
  for (std::size_t i = 0; i < padded.network.nodes.size(); ++i) {
    Node node = padded.network.nodes[i];
    for (int& input : node.inputs) input = values[static_cast<std::size_t>(input)];
    bound.network.nodes.push_back(std::move(node));
    bound.pads.push_back(padded.pads[i]);
    if (i == 0 || random.chance(0.3)) {
      const int value = static_cast<int>(bound.network.nodes.size());
      bound.network.nodes.push_back({"norm" + std::to_string(i), random_norm(f[i + 1], random), {value}});
      bound.pads.emplace_back();
    }
    values.push_back(static_cast<int>(bound.network.nodes.size()));
  }
  bound.weights = random_weights(bound.network, static_cast<std::uint64_t>(random.integer(1, 1000)));
  return bound;
}

// One whose padding does not make the output larger than the volume.
PaddedNetwork random_bound_network(Random& random) {
  for (;;) {
    const bool strided = random.chance(0.6);
    const PaddedNetwork net = with_norms(
        strided ? test::random_strided_network(random, false, random.chance(0.4)) : test::random_padded_network(random),
        random);
    const Result<LoadedNetwork> sound = without_padding({net.network, {}}, net.pads, net.declared);
    if (sound && check(sound->network)) return net;
  }
}

GeometryChoice window_choice(const Network& network, Vec3 window) {
  GeometryChoice choice;
  choice.pass_input = framed(network, window);
  choice.closed = axes_of_window(network);
  return choice;
}

class TileBoundNetworks : public testing::Test {
 protected:
  void open(std::uint64_t seed) {
    random_ = std::make_unique<Random>(seed);
    net_ = random_bound_network(*random_);
    valid_ = test::valid_form(net_, random_->chance(0.5));
    window_ = test::random_extent(valid_.network, *random_);
    engine_.reset();  // before the device that they use
    made_.engine.reset();
    made_ = test::open_bench(valid_.network, {window_choice(valid_.network, window_)});
    engine_ = Engine::open(valid_.network, valid_.weights, made_.plan, made_.catalogue, *made_.device).value();
  }
  [[nodiscard]] Result<JobOutlook> outlook(Vec3 n) const {
    return engine_->outlook({net_.network.f_in, n, ElementType::f32}, ElementType::f32, saturated);
  }

  std::unique_ptr<Random> random_;
  PaddedNetwork net_;
  LoadedNetwork valid_;
  Vec3 window_;
  EngineBench made_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(TileBoundNetworks, EqualTheirDefinition) {
  for (int i = 0; i < test::case_count(40); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    open(seed);
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + test::in_words(valid_.network));
    EXPECT_LE(test::error_of(*engine_, net_, window_, *random_), 2e-5) << to_string(window_);
    if (HasFailure()) return;
  }
}

// A mean over other voxels than the window's would be another network.
TEST_F(TileBoundNetworks, TakeTheirWindowAlone) {
  open(test::base_seed());
  ASSERT_TRUE(outlook(window_));
  for (const Vec3 step : {period(valid_.network), Vec3{} - period(valid_.network)}) {
    const Result<JobOutlook> refused = outlook(window_ + step);
    if (!covers(window_ + step, Vec3::cube(1))) continue;
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_THAT(outlook(window_ + period(valid_.network)).error().message,
              HasSubstr("the network normalises over all voxels of its window, " + to_string(window_)));
}

TEST_F(TileBoundNetworks, BeginAtTheFirstPlane) {
  open(test::base_seed());
  const test::RandomVolume volume = test::random_volume(net_.network.f_in, window_, ElementType::f32, *random_);
  test::JobOutcome outcome;
  VolumeJob job =
      test::recorded_job(volume.view(), outlook(window_)->output, ElementType::f32, VolumeOrder::image_major, outcome);
  job.first_plane = 1;
  const Result<JobStatistics> ran = engine_->run(job, {});
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message, HasSubstr("the job's first plane is 1; 0 is right"));
}

TEST_F(TileBoundNetworks, APlanOfAnotherWindowIsRefused) {
  open(test::base_seed());
  Network other = valid_.network;
  other.window = window_ + period(other);
  const Result<void> checked = Engine::check_plan(other, made_.plan, made_.catalogue, made_.device->spec());
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("rung 0: it computes windows of " + to_string(window_)));
  other.window = window_;
  EXPECT_TRUE(Engine::check_plan(other, made_.plan, made_.catalogue, made_.device->spec()));
}

// Plans that the search makes.
TEST(TileBoundPlans, SearchedOnesEqualTheDefinition) {
  const Backend* const rows[] = {&cpu::backend()};
  const Catalogue catalogue = Catalogue::make(rows).value();
  const std::unique_ptr<Device> device = cpu::backend().open(cpu::describe_cpu(2), std::int64_t{1} << 31, 0, 0).value();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  for (int i = 0; i < test::case_count(15); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const PaddedNetwork net = random_bound_network(random);
    LoadedNetwork valid = test::valid_form(net, random.chance(0.7));
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + test::in_words(valid.network));
    const Vec3 n = test::random_extent(valid.network, random);
    SearchOptions options;
    options.memory_limit = std::int64_t{1} << 28;
    if (random.chance(0.5)) {
      valid.network.window = n;
    } else {
      options.volume = framed(valid.network, n);
    }
    const Result<Plan> plan = search(valid.network, device->spec(), catalogue, *costs, options);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->ladder.size(), 1U);
    const Result<std::unique_ptr<Engine>> engine =
        Engine::open(valid.network, valid.weights, *plan, catalogue, *device);
    ASSERT_TRUE(engine) << engine.error().message;
    EXPECT_LE(test::error_of(**engine, net, n, random), 2e-5) << to_string(n);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace znni
