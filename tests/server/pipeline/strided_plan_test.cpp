// Networks with strides of their own, padded or valid, in patches and in streams, compared with their definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "planner/costs/costs.hpp"
#include "planner/network/graph_passes.hpp"
#include "planner/search/search.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/cpu_device.hpp"
#include "tests/server/pipeline/dense_oracle.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/strided_network.hpp"
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

using MakeNetwork = std::function<PaddedNetwork(Random&, bool valid)>;

PaddedNetwork strided(Random& random, bool valid) { return test::random_strided_network(random, valid); }
PaddedNetwork linear(Random& random, bool valid) { return test::random_strided_network(random, valid, true); }

PaddedNetwork edged(Random& random, bool /*valid*/) { return test::random_edged_network(random); }

PaddedNetwork reflecting(Random& random, bool /*valid*/) { return test::random_reflecting_network(random); }

class StridedPlan : public testing::Test {
 protected:
  StridedPlan() {
    const Backend* const rows[] = {&cpu::backend()};
    catalogue_ = Catalogue::make(rows).value();
    device_ = cpu::backend().open(cpu::describe_cpu(2), std::int64_t{1} << 31, 0, 0).value();
  }

  // Searches plans of random networks and compares what they give.
  void expect_definition(const MakeNetwork& make) {
    int ran = 0;
    for (int i = 0; i < test::case_count(12); ++i) {
      const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
      Random random(seed);
      const PaddedNetwork net = make(random, i % 3 == 2);
      const LoadedNetwork valid = valid_form(net, random.chance(0.7));
      SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + in_words(valid.network));
      SearchOptions options;
      options.memory_limit = std::int64_t{1} << random.integer(21, 27);
      const Vec3 least = min_extent(valid.network);
      options.max_extent = std::max({std::int64_t{80}, least.z, least.y, least.x});
      const Result<Plan> plan = search(valid.network, device_->spec(), catalogue_, *costs_, options);
      if (!plan) {
        EXPECT_EQ(plan.error().code, ErrorCode::over_budget) << plan.error().message;
        continue;
      }
      const Result<std::unique_ptr<Engine>> engine =
          Engine::open(valid.network, valid.weights, *plan, catalogue_, *device_);
      ASSERT_TRUE(engine) << engine.error().message;
      const Vec3 n = random_extent(valid.network, random);
      EXPECT_LE(error_of(**engine, net, n, random), 1e-5) << to_string(n);
      ++ran;
      if (HasFailure()) return;
    }
    EXPECT_GE(ran, test::case_count(12) / 2);
  }

  Catalogue catalogue_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<CostSource> costs_ = modelled_costs();
};

TEST_F(StridedPlan, SearchedPlansEqualTheDefinition) { expect_definition(strided); }

TEST_F(StridedPlan, SearchedPlansOfLinearUpsamplingsEqualTheDefinition) { expect_definition(linear); }

TEST_F(StridedPlan, SearchedPlansOfCoarseOutputsEqualTheDefinition) { expect_definition(test::random_coarse_network); }

TEST_F(StridedPlan, SearchedPlansOfRepeatedEdgesEqualTheDefinition) { expect_definition(edged); }

TEST_F(StridedPlan, SearchedPlansOfReflectionsEqualTheDefinition) { expect_definition(reflecting); }

// Expects the definition in patches and streams on primitives that are the oracle itself.
void expect_definition_in_any_patches_and_streams(const MakeNetwork& make) {
  int streams = 0;
  for (int i = 0; i < test::case_count(30); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const PaddedNetwork net = make(random, i % 3 == 2);
    const LoadedNetwork valid = valid_form(net, random.chance(0.5));
    std::vector<GeometryChoice> ladder = {test::random_choice(valid.network, random, random.integer(1, 2), 2)};
    if (random.chance(0.6)) {
      if (const auto stream = test::random_stream(valid.network, random, 2)) {
        ladder = {*stream};
        ++streams;
      }
    }
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + in_words(valid.network));
    EngineBench made = test::open_bench(valid.network, ladder);
    Result<std::unique_ptr<Engine>> engine =
        Engine::open(valid.network, valid.weights, made.plan, made.catalogue, *made.device);
    ASSERT_TRUE(engine) << engine.error().message;
    const Vec3 n = random_extent(valid.network, random);
    EXPECT_LE(error_of(**engine, net, n, random), 1e-5) << to_string(n);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GE(streams, test::case_count(30) / 4);
}

TEST(StridedNetworks, EqualTheirDefinitionInAnyPatchesAndStreams) {
  expect_definition_in_any_patches_and_streams(strided);
}

TEST(StridedNetworks, OfLinearUpsamplingsEqualTheirDefinitionInAnyPatchesAndStreams) {
  expect_definition_in_any_patches_and_streams(linear);
}

TEST(StridedNetworks, OfCoarseOutputsEqualTheirDefinitionInAnyPatchesAndStreams) {
  expect_definition_in_any_patches_and_streams(test::random_coarse_network);
}

TEST(StridedNetworks, OfRepeatedEdgesEqualTheirDefinitionInAnyPatchesAndStreams) {
  expect_definition_in_any_patches_and_streams(edged);
}

TEST(StridedNetworks, OfReflectionsEqualTheirDefinitionInAnyPatchesAndStreams) {
  expect_definition_in_any_patches_and_streams(reflecting);
}

// Reflects `around`, and convolves that: by a kernel whose window holds both voxels, or by several that are too narrow.
PaddedNetwork reflecting_by(const Border& around, bool wide) {
  PaddedNetwork net;
  const Crop crop{around.end * Vec3::cube(2), max(around.begin, around.end) * Vec3::cube(2), true};
  net.network.nodes = {{"first", Convolution{2, Vec3::cube(1), Vec3::cube(1), {}}, {0}}, {"reflected", crop, {1}}};
  net.pads = {{}, {crop.begin + around.begin, crop.end + around.end}};
  Vec3 left = wide ? Vec3::cube(1) : around.begin + around.end;
  for (int number = 2; left != Vec3{}; ++number) {
    const Vec3 step = min(left, Vec3::cube(1));
    const Vec3 more = wide ? max(around.begin, around.end) * Vec3::cube(2) : step;
    net.network.nodes.push_back(
        {"conv" + std::to_string(number), Convolution{1, Vec3::cube(1) + more, Vec3::cube(1), {}}, {number}});
    net.pads.emplace_back();
    left = left - step;
  }
  net.weights = random_weights(net.network, 1);
  return net;
}

// A plane and the one that it copies come in different steps; nothing but the planes that a stream keeps has both.
TEST(StridedNetworks, StreamsReflectPlanesInAnySteps) {
  Random random(test::base_seed());
  for (const bool wide : {false, true}) {
    for (const Border& around : {Border{{1, 0, 0}, {1, 0, 0}}, Border{{3, 0, 1}, {0, 1, 0}}, Border{{}, {2, 0, 0}}}) {
      const PaddedNetwork net = reflecting_by(around, wide);
      const LoadedNetwork valid = valid_form(net, false);
      EXPECT_EQ(valid.network.nodes.size(), net.network.nodes.size() - (wide ? 1 : 0));
      const Vec3 least = min_extent(valid.network) - valid.network.frame.begin - valid.network.frame.end;
      for (const std::int64_t step : {1, 2, 3, 4}) {
        GeometryChoice choice;
        choice.pass_input = {step, 12, 12};
        choice.streamed = true;
        EngineBench made = test::open_bench(valid.network, {choice});
        const Result<std::unique_ptr<Engine>> engine =
            Engine::open(valid.network, valid.weights, made.plan, made.catalogue, *made.device);
        ASSERT_TRUE(engine) << engine.error().message;
        for (const std::int64_t more : {0, 1, 2, 5}) {
          const Vec3 n = least + Vec3{more, 6, 5};
          EXPECT_LE(error_of(**engine, net, n, random), 1e-5) << in_words(valid.network) << step << " " << to_string(n);
        }
      }
    }
  }
}

// Returns a change by which what is read as `right` outside the volume is filled as `filled`.
test::ChangeFill fill_as(OutsideKind right, OutsideKind filled) {
  return [=](Node& node) {
    if (node.outside_kind == right) node.outside_kind = filled;
  };
}

TEST(StridedNetworks, OfReflectionsAreNotExactWhereTheEdgeIsRepeated) {
  const test::ChangeFill repeat = fill_as(OutsideKind::reflect, OutsideKind::edge);
  EXPECT_GE(test::wrong_when(test::random_reflecting_network, repeat, test::any_patch), 5);
  EXPECT_GE(test::wrong_when(test::random_reflecting_network, repeat, test::any_stream), 5);
}

TEST(StridedNetworks, VolumesThatHaveFewerVoxelsThanPadsReflectAreRefused) {
  PaddedNetwork net;
  const Vec3 around{0, 0, 3};
  net.network.nodes = {{"reflected", Crop{around + around, around + around, true}, {0}},
                       {"last", Convolution{1, {1, 1, 7}, Vec3::cube(1), {}}, {1}}};
  net.pads = {{around * Vec3::cube(3), around * Vec3::cube(3)}, {}};
  net.weights = random_weights(net.network, 1);
  const LoadedNetwork valid = valid_form(net, false);
  Random random(test::base_seed());
  EngineBench made = test::open_bench(valid.network, {test::random_choice(valid.network, random, 1, 1)});
  EXPECT_TRUE(made.engine->estimate({1, {1, 1, 4}, ElementType::f32}, ElementType::f32, saturated));
  const Result<JobEstimate> refused =
      made.engine->estimate({1, {1, 1, 3}, ElementType::f32}, ElementType::f32, saturated);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().message.find("the volume has 3 voxels along x; the network's pads reflect voxels further "
                                         "inside, for which it needs at least 4"),
            std::string::npos)
      << refused.error().message;
}

// A plane at the far end and its copies come in different steps, the last copies when nothing of the volume is left.
TEST(StridedNetworks, StreamsRepeatTheLastPlaneInAnySteps) {
  Random random(test::base_seed());
  for (const std::int64_t edges : {1, 2, 3}) {
    PaddedNetwork net;
    const Vec3 cropped{edges, 0, 0};
    net.network.nodes = {{"first", Convolution{2, Vec3::cube(1), Vec3::cube(1), {}}, {0}},
                         {"edges", Crop{cropped, cropped}, {1}},
                         {"last", Convolution{1, {2 * edges + 1, 1, 1}, Vec3::cube(1), {}}, {2}}};
    net.pads = {{}, {cropped + cropped, cropped + cropped}, {}};
    net.weights = random_weights(net.network, 1);
    const LoadedNetwork valid = valid_form(net, false);
    for (const std::int64_t step : {1, 2, 3, 4}) {
      GeometryChoice choice;
      choice.pass_input = {step, 4, 4};
      choice.streamed = true;
      EngineBench made = test::open_bench(valid.network, {choice});
      const Result<std::unique_ptr<Engine>> engine =
          Engine::open(valid.network, valid.weights, made.plan, made.catalogue, *made.device);
      ASSERT_TRUE(engine) << engine.error().message;
      for (const std::int64_t planes : {1, 2, 5, 6, 7}) {
        EXPECT_LE(error_of(**engine, net, {planes, 6, 5}, random), 1e-5) << edges << " " << step << " " << planes;
      }
    }
  }
}

TEST(StridedNetworks, OfLinearUpsamplingsAreNotExactWhereTheBorderIsNotRepeated) {
  const auto draw = [](Random& random) { return linear(random, false); };
  const test::ChangeFill zero = fill_as(OutsideKind::edge, OutsideKind::zero);
  EXPECT_GE(test::wrong_when(draw, zero, test::any_patch), 5);
  EXPECT_GE(test::wrong_when(draw, zero, test::any_stream), 5);
}

TEST(StridedNetworks, AreNotExactWhereTheBorderIsNotFilled) {
  const auto draw = [](Random& random) { return strided(random, false); };
  EXPECT_GE(test::wrong_when(draw, test::unfilled, test::any_patch), 5);
  EXPECT_GE(test::wrong_when(draw, test::unfilled, test::any_stream), 5);
}

TEST(StridedNetworks, VolumesWhoseBranchesDoNotMeetAreRefused) {
  Random random(test::base_seed());
  const PaddedNetwork net = test::random_strided_network(random, false);
  const LoadedNetwork valid = valid_form(net, true);
  EngineBench made = test::open_bench(valid.network, {test::random_choice(valid.network, random, 1, 1)});
  const Vec3 sound = random_extent(valid.network, random);
  const VolumeShape wrong{net.network.f_in, sound + Vec3{0, 0, 1}, ElementType::f32};
  const Result<JobEstimate> refused = made.engine->estimate(wrong, ElementType::f32, saturated);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().message.find("voxels along x; the network's strides need steps of"), std::string::npos)
      << refused.error().message;
}

}  // namespace
}  // namespace znni
