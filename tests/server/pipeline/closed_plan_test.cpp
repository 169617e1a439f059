// Patches that have the whole volume along some axes, compared with the definition of their networks.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "planner/costs/costs.hpp"
#include "planner/network/swap_axes.hpp"
#include "planner/search/search.hpp"
#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/cpu_device.hpp"
#include "tests/server/pipeline/engine_bench.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/strided_network.hpp"
#include "tests/server/pipeline/wrong_fills.hpp"

namespace znni {
namespace {

using test::EngineBench;
using test::PaddedNetwork;
using test::Random;

PaddedNetwork random_net(Random& random) {
  if (random.chance(0.4)) return test::random_padded_network(random);
  return test::random_strided_network(random, false, random.chance(0.5));
}

// Draws a patch or a step of a stream.
GeometryChoice open_choice(const Network& network, Random& random) {
  if (random.chance(0.6)) {
    if (const auto stream = test::random_stream(network, random, 2)) return *stream;
  }
  return test::random_choice(network, random, 1, 2);
}

// Closes some axes along which the network pads.
GeometryChoice closed_choice(const Network& network, Vec3 volume, Random& random) {
  GeometryChoice choice = open_choice(network, random);
  choice.stem_slab = 0;
  const Vec3 padding = swap_axes(network.frame.begin + network.frame.end, choice.axis);
  const Vec3 whole = swap_axes(framed(network, volume), choice.axis);
  for (int axis = choice.streamed ? 1 : 0; axis < 3; ++axis) {
    if (padding[axis] == 0 || random.chance(0.3)) continue;
    choice.closed[axis] = 1;
    choice.pass_input[axis] = whole[axis];
  }
  return choice;
}

// Draws a legal volume that is no larger.
Vec3 smaller_volume(const Network& network, Vec3 volume, Random& random) {
  const Vec3 least = min_extent(network) - network.frame.begin - network.frame.end;
  const Vec3 step = period(network);
  for (int axis = 0; axis < 3; ++axis) {
    volume[axis] -= step[axis] * random.integer(0, (volume[axis] - least[axis]) / step[axis]);
  }
  return volume;
}

class ClosedNetworks : public testing::Test {
 protected:
  // Opens an engine for volumes of up to `volume_`; returns whether an axis is closed.
  bool open(std::uint64_t seed) {
    random_ = std::make_unique<Random>(seed);
    net_ = random_->chance(0.3) ? test::random_stacked_network(*random_) : random_net(*random_);
    valid_ = test::valid_form(net_, random_->chance(0.5));
    volume_ = test::random_extent(valid_.network, *random_);
    const GeometryChoice choice = closed_choice(valid_.network, volume_, *random_);
    engine_.reset();  // before the device that they use
    made_.engine.reset();
    made_ = test::open_bench(valid_.network, {choice},
                             random_->chance(0.5) ? test::oracle_backend() : test::in_place_backend());
    engine_ = Engine::open(valid_.network, valid_.weights, made_.plan, made_.catalogue, *made_.device).value();
    return choice.closed != Vec3{};
  }

  std::unique_ptr<Random> random_;
  PaddedNetwork net_;
  LoadedNetwork valid_;
  Vec3 volume_;
  EngineBench made_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(ClosedNetworks, EqualTheirDefinitionForTheirVolumeAndSmallerOnes) {
  int closed = 0;
  for (int i = 0; i < test::case_count(40); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    closed += open(seed) ? 1 : 0;
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + test::in_words(valid_.network));
    EXPECT_LE(test::error_of(*engine_, net_, volume_, *random_), 1e-5) << to_string(volume_);
    const Vec3 smaller = smaller_volume(valid_.network, volume_, *random_);
    EXPECT_LE(test::error_of(*engine_, net_, smaller, *random_), 1e-5) << to_string(smaller);
    if (HasFailure()) return;
  }
  EXPECT_GE(closed, test::case_count(40) / 2);
}

TEST_F(ClosedNetworks, RefuseALargerVolume) {
  std::uint64_t seed = test::base_seed();
  while (!open(seed)) ++seed;
  const GeometryChoice& choice = made_.plan.ladder[0].geometry;
  const Vec3 larger = volume_ + period(valid_.network) * swap_axes(choice.closed, choice.axis);
  const Result<JobEstimate> refused =
      engine_->estimate({net_.network.f_in, larger, ElementType::f32}, ElementType::f32, saturated);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().message.find("--volume"), std::string::npos) << refused.error().message;
}

// Draws a choice with a closed axis, of which streams have open ones, too.
test::DrawChoice closed_ones(bool streamed) {
  return [=](const Network& network, Vec3 volume, Random& random) -> std::optional<GeometryChoice> {
    const GeometryChoice choice = closed_choice(network, volume, random);
    if (choice.closed == Vec3{} || choice.streamed != streamed) return std::nullopt;
    return choice;
  };
}

// What stands along a closed axis where readers pad is not zero.
void repeated(Node& node) {
  if (node.outside_kind == OutsideKind::zero) node.outside_kind = OutsideKind::edge;
}

TEST(ClosedPatches, AreNotExactWhereTheBorderIsNotZero) {
  EXPECT_GE(test::wrong_when(random_net, repeated, closed_ones(false)), 5);
}

// What readers pad with is the least number.
void lowest(Node& node) {
  if (node.outside_kind == OutsideKind::zero) node.outside_kind = OutsideKind::lowest;
}

// Nothing is filled before the first plane of the volume and behind its last.
void unfilled_ends(Node& node) {
  node.outside.begin.z = 0;
  node.outside.end.z = 0;
}

TEST(ClosedStreams, AreNotExactWhereTheBorderIsNotZero) {
  EXPECT_GE(test::wrong_when(random_net, lowest, closed_ones(true)), 5);
}

TEST(ClosedStreams, AreNotExactWhereTheirEndsAreNotFilled) {
  const auto along_z = [](const Network& network, Vec3 volume, Random& random) {
    const std::optional<GeometryChoice> choice = closed_ones(true)(network, volume, random);
    return choice && choice->axis == 0 ? choice : std::nullopt;
  };
  EXPECT_GE(test::wrong_when(random_net, unfilled_ends, along_z), 5);
}

// Opens a CPU whose caches and rates, which plans follow, are the same on every machine.
std::unique_ptr<Device> open_known_cpu() {
  DeviceSpec spec = cpu::describe_cpu(2);
  spec.simd_floats = std::min(spec.simd_floats, 8);  // all x86-64 processors that are supported have as many
  spec.l2_bytes = std::int64_t{1} << 20;
  spec.l3_bytes = std::int64_t{32} << 20;
  spec.hertz = 3e9;
  spec.flops_per_second = 2e11;
  spec.bytes_per_second = 2e10;
  return cpu::backend().open(spec, std::int64_t{1} << 31, 0, 0).value();
}

// Plans that the search makes for a volume.
TEST(ClosedPlans, SearchedOnesEqualTheDefinition) {
  const Backend* const rows[] = {&cpu::backend()};
  const Catalogue catalogue = Catalogue::make(rows).value();
  const std::unique_ptr<Device> device = open_known_cpu();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  int closed = 0;
  int taken = 0;  // larger volumes, by an open rung
  for (int i = 0; i < test::case_count(12); ++i) {
    const std::uint64_t seed = test::base_seed() + static_cast<std::uint64_t>(i);
    Random random(seed);
    const PaddedNetwork net = random_net(random);
    const LoadedNetwork valid = test::valid_form(net, random.chance(0.7));
    SCOPED_TRACE("ZNNI_TEST_SEED=" + std::to_string(seed) + test::in_words(valid.network));
    const Vec3 n = test::random_extent(valid.network, random);
    SearchOptions options;
    options.memory_limit = std::int64_t{1} << random.integer(21, 27);
    options.max_extent = 120;
    options.volume = framed(valid.network, n);
    const Result<Plan> plan = search(valid.network, device->spec(), catalogue, *costs, options);
    if (!plan) {
      EXPECT_EQ(plan.error().code, ErrorCode::over_budget) << plan.error().message;
      continue;
    }
    const Result<std::unique_ptr<Engine>> engine =
        Engine::open(valid.network, valid.weights, *plan, catalogue, *device);
    ASSERT_TRUE(engine) << engine.error().message;
    EXPECT_LE(test::error_of(**engine, net, n, random), 1e-5) << to_string(n);
    if (HasFailure()) return;
    if (plan->ladder[0].geometry.closed == Vec3{}) continue;
    ++closed;
    const Vec3 larger = n + period(valid.network);
    if (!(*engine)->estimate({net.network.f_in, larger, ElementType::f32}, ElementType::f32, saturated)) continue;
    EXPECT_LE(test::error_of(**engine, net, larger, random), 1e-5) << to_string(larger);
    ++taken;
  }
  EXPECT_GE(closed, test::case_count(12) / 3);
  EXPECT_GE(taken, closed / 2);
}

}  // namespace
}  // namespace znni
