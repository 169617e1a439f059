// Networks that pad, in patches and in streams, compared with their definition.
#include <gtest/gtest.h>

#include <string>

#include "planner/costs/costs.hpp"
#include "planner/network/graph_passes.hpp"
#include "planner/search/search.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/cpu_device.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/padded_network.hpp"
#include "tests/server/pipeline/wrong_fills.hpp"

namespace znni {
namespace {

using test::EngineBench;
using test::error_of;
using test::in_words;
using test::PaddedNetwork;
using test::Random;
using test::random_extent;
using test::valid_form;

class PaddedPlan : public testing::Test {
 protected:
  PaddedPlan() {
    const Backend* const rows[] = {&cpu::backend()};
    catalogue_ = Catalogue::make(rows).value();
    device_ = cpu::backend().open(cpu::describe_cpu(2), std::int64_t{1} << 31, 0, 0).value();
  }

  Catalogue catalogue_;
  std::unique_ptr<Device> device_;
};

TEST_F(PaddedPlan, SearchedPlansEqualTheDefinition) {
  for (int i = 0; i < test::case_count(16); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const bool stacked = random.chance(0.4);
    const PaddedNetwork padded = stacked ? test::random_stacked_network(random) : test::random_padded_network(random);
    const LoadedNetwork valid = valid_form(padded, random.chance(0.7));
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + in_words(valid.network));
    SearchOptions options;
    options.memory_limit = std::int64_t{1} << random.integer(20, 26);
    options.max_extent = 40;
    const std::unique_ptr<CostSource> costs = modelled_costs();
    const Result<Plan> plan = search(valid.network, device_->spec(), catalogue_, *costs, options);
    if (!plan) {
      EXPECT_EQ(plan.error().code, ErrorCode::over_budget) << plan.error().message;
      continue;
    }
    const Result<std::unique_ptr<Engine>> engine =
        Engine::open(valid.network, valid.weights, *plan, catalogue_, *device_);
    ASSERT_TRUE(engine) << engine.error().message;
    const Vec3 n = random_extent(valid.network, random);
    EXPECT_LE(error_of(**engine, padded, n, random), 1e-5) << to_string(n);
    if (HasFailure()) return;
  }
}

// Patches and streams along any axis on primitives that are the oracle itself.
TEST(PaddedNetworks, EqualTheirDefinitionInAnyPatchesAndStreams) {
  int stacks = 0;
  for (int i = 0; i < test::case_count(60); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const bool stacked = random.chance(0.5);
    const PaddedNetwork padded = stacked ? test::random_stacked_network(random) : test::random_padded_network(random);
    const LoadedNetwork valid = valid_form(padded, random.chance(stacked ? 0.8 : 0.5));
    stacks += test::has_stack(valid.network) ? 1 : 0;
    std::vector<GeometryChoice> ladder = {test::random_choice(valid.network, random, random.integer(1, 2))};
    if (random.chance(0.6)) {
      if (const auto stream = test::random_stream(valid.network, random)) ladder = {*stream};
    }
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + in_words(valid.network));
    EngineBench made =
        test::open_bench(valid.network, ladder, random.chance(0.5) ? test::oracle_backend() : test::in_place_backend());
    Result<std::unique_ptr<Engine>> engine =
        Engine::open(valid.network, valid.weights, made.plan, made.catalogue, *made.device);
    ASSERT_TRUE(engine) << engine.error().message;
    const Vec3 n = random_extent(valid.network, random);
    EXPECT_LE(error_of(**engine, padded, n, random), 1e-5) << to_string(n);
    if (HasFailure()) return;
  }
  EXPECT_GE(stacks, test::case_count(60) / 6);
}

// Returns a network whose padding stands where the volume has voxels that the crop took away, so that there is no
// frame.
PaddedNetwork padded_behind_crop() {
  PaddedNetwork padded;
  const Vec3 one = Vec3::cube(1);
  padded.network.nodes = {{"crop", Crop{one, one}, {0}},
                          {"a", Convolution{2, Vec3::cube(3), one, {ActivationKind::relu}}, {1}},
                          {"b", Convolution{1, {1, 2, 3}, one, {}}, {2}}};
  padded.pads = {{}, {one, one}, {}};
  padded.weights = random_weights(padded.network, 1);
  return padded;
}

TEST(PaddedNetworks, MayPadBehindACrop) {
  const PaddedNetwork padded = padded_behind_crop();
  const LoadedNetwork valid = valid_form(padded, true);
  EXPECT_EQ(valid.network.frame, Border{});
  EXPECT_FALSE(is_dense(valid.network));
  for (int i = 0; i < 12; ++i) {
    Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const Vec3 n = random_extent(valid.network, random);
    GeometryChoice choice = test::random_choice(valid.network, random, random.integer(1, 2));
    if (i % 3 == 1) choice = test::random_stream(valid.network, random).value();
    if (i % 3 == 2) choice = {n, 1, {}};
    if (i % 3 == 2) choice.closed = Vec3::cube(1);
    EngineBench made = test::open_bench(valid.network, {choice});
    const std::unique_ptr<Engine> engine =
        Engine::open(valid.network, valid.weights, made.plan, made.catalogue, *made.device).value();
    EXPECT_LE(error_of(*engine, padded, n, random), 1e-5) << to_string(n);
  }
}

TEST(PaddedNetworks, AreNotExactInPatchesWhereTheBorderIsNotZero) {
  EXPECT_GE(test::wrong_when(test::random_padded_network, test::unfilled, test::any_patch), 5);
}

TEST(PaddedNetworks, AreNotExactAsStreamsWhereTheBorderIsNotZero) {
  EXPECT_GE(test::wrong_when(test::random_padded_network, test::unfilled, test::any_stream), 5);
}

}  // namespace
}  // namespace znni
