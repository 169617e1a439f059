#include "planner/split/split_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "planner/geometry/streams.hpp"
#include "planner/plan/pairs.hpp"
#include "planner/plan/throughput.hpp"
#include "tests/server/pipeline/hand_plan.hpp"
#include "tests/server/pipeline/random_network.hpp"
#include "tests/server/pipeline/split_plan.hpp"
#include "tests/support/host_sim.hpp"
#include "tests/support/sim_primitives.hpp"

namespace znni {
namespace {

using test::Random;
using testing::HasSubstr;

constexpr std::int64_t much = std::int64_t{1} << 40;

class SplitSearchTest : public testing::Test {
 protected:
  [[nodiscard]] Result<SplitChoice> choose(const SpaceBytes& budget,
                                           Seconds below = std::numeric_limits<double>::infinity()) {
    return choose(catalogue_, budget, below);
  }
  [[nodiscard]] Result<SplitChoice> choose(const Catalogue& catalogue, const SpaceBytes& budget,
                                           Seconds below = std::numeric_limits<double>::infinity()) {
    SplitSearch search(network_, catalogue, *costs_, specs_);
    return search.best(geometry_, budget, below);
  }
  [[nodiscard]] static std::string places(const SplitChoice& choice) {
    std::string text;
    for (const Segment& segment : choice.rung.segments) {
      text += std::string(to_string(segment.place)) + " " + std::to_string(segment.first) + "-" +
              std::to_string(segment.last) + ";";
    }
    return text;
  }

  PlaceSpecs specs_{DeviceSpec{}, test::host_sim_spec()};
  Network network_ = test::simple_network(2);  // conv pool conv pool conv
  Geometry geometry_ = make_geometry(network_, test::choice_of(network_, PoolMode::fragments, 2)).value();
  Catalogue catalogue_ = test::split_catalogue();
  std::unique_ptr<CostSource> costs_ = modelled_costs();
};

TEST_F(SplitSearchTest, AFastGpuWithMuchMemoryDoesAllAlone) {
  specs_.gpu.flops_per_second = 1e13;
  specs_.cpu.bytes_per_second = 1e12;
  specs_.gpu.accelerator.up = specs_.gpu.accelerator.down = {1e-7, 1e12};
  const SplitChoice choice = choose({much, much, much}).value();
  EXPECT_EQ(places(choice), "gpu 0-4;");
  EXPECT_EQ(choice.rung.seconds, choice.seconds.gpu);
}

TEST_F(SplitSearchTest, ASlowGpuSharesWithTheCpu) {
  specs_.gpu.flops_per_second = 2e9;  // the oracle's primitive is modelled at 1e9
  specs_.gpu.accelerator.up = specs_.gpu.accelerator.down = {1e-7, 1e12};
  const SplitChoice choice = choose({much, much, much}).value();
  ASSERT_EQ(choice.rung.segments.size(), 2U) << places(choice);
  EXPECT_EQ(choice.rung.segments[0].place, Place::cpu);
  EXPECT_GT(choice.seconds.cpu, 0);
  EXPECT_LT(choice.seconds.patch(), choice.seconds.cpu + choice.seconds.gpu);
}

// Less memory on the device: micro-batches, then layers through host RAM, and never a faster prediction.
TEST_F(SplitSearchTest, LessDeviceMemoryIsNeverFasterAndNeverTooMuch) {
  specs_.gpu.flops_per_second = 1e12;
  Seconds before = 0;
  std::string first;
  std::string last;
  for (std::int64_t device = 1 << 20; device >= 1 << 13; device /= 2) {
    const SpaceBytes budget{much, much, device};
    const Result<SplitChoice> choice = choose(budget);
    if (!choice) break;
    EXPECT_TRUE(budget.covers(choice->bytes));
    EXPECT_GE(choice->seconds.patch(), before * (1 - 1e-12));
    before = choice->seconds.patch();
    last = places(*choice) + " micro-batches of " + std::to_string(choice->rung.segments.back().micro_batch.inputs);
    if (first.empty()) first = last;
  }
  EXPECT_NE(first, last);
}

// A primitive for two nodes at once saves time here, and memory for sure.
TEST_F(SplitSearchTest, TakesAConvolutionAndItsPoolingTogether) {
  specs_.gpu.flops_per_second = 1e13;
  specs_.cpu.bytes_per_second = 1e12;
  specs_.gpu.accelerator.up = specs_.gpu.accelerator.down = {1e-7, 1e12};
  const Catalogue with_pairs = test::pair_catalogue();
  const SplitChoice single = choose({much, much, much}).value();
  const SplitChoice pairs = choose(with_pairs, {much, much, much}).value();
  const std::vector<Step>& steps = pairs.rung.segments.front().steps;
  ASSERT_EQ(steps.size(), 5U);
  EXPECT_TRUE(begins_pair(steps, 0));
  EXPECT_TRUE(begins_pair(steps, 2));
  EXPECT_LT(pairs.seconds.gpu, single.seconds.gpu);
  EXPECT_LT(pairs.bytes.device, single.bytes.device);
  const SplitChoice tight = choose(with_pairs, {much, much, pairs.bytes.device}).value();
  EXPECT_EQ(tight.rung, pairs.rung) << "fits to the byte";
  EXPECT_NE(choose(with_pairs, {much, much, pairs.bytes.device - 1}).value().rung, pairs.rung);
}

// Describes ways that depend on the planes before those they write, as cuDNN's do.
Result<std::vector<Estimate>> describe_behind(const LayerProblem& problem, const DeviceSpec& spec) {
  Result<std::vector<Estimate>> found = test::sim_conv().describe(problem, spec);
  if (!found) return found;
  for (Estimate& estimate : *found) {
    estimate.variant.push_back({"behind", std::get<ConvProblem>(problem).before.out});
  }
  return found;
}
constinit const Primitive conv_behind{"sim.conv", 1, DeviceKind::gpu, describe_behind, nullptr};

// A pair of a stream reads more planes again: the layer before it writes behind them, and is looked at so.
TEST_F(SplitSearchTest, LayersBeforeAPairAreDescribedAsTheyWillRun) {
  specs_.gpu.flops_per_second = 1e13;
  specs_.cpu.bytes_per_second = 1e12;
  specs_.gpu.accelerator.up = specs_.gpu.accelerator.down = {1e-7, 1e12};
  const auto conv = [](int node) {
    return Node{"conv" + std::to_string(node), Convolution{2, Vec3::cube(3), Vec3::cube(1), {}}, {node}};
  };
  network_ = {};
  network_.nodes = {conv(0), conv(1), {"pool", Pooling{}, {2}}, conv(3)};
  GeometryChoice choice = test::choice_of(network_, PoolMode::fragments, 2);
  choice.streamed = true;
  choice.pass_input.z = 32;
  geometry_ = make_geometry(network_, choice).value();
  const std::span<const Primitive* const> others = test::sim_backend().primitives.subspan(1);
  std::vector<const Primitive*> gpu(others.begin(), others.end());
  gpu.insert(gpu.end(), {&conv_behind, &test::sim_conv_pool()});
  const Catalogue catalogue = test::split_catalogue(gpu);
  SplitSearch search(network_, catalogue, *costs_, specs_, {false, false});
  const SplitChoice single = search.best(geometry_, {much, much, much}).value();
  EXPECT_FALSE(begins_pair(single.rung.segments.front().steps, 1));
  const Result<SplitChoice> pair = search.best(geometry_, {much, much, single.bytes.device - 1});
  ASSERT_TRUE(pair) << pair.error().message << single.bytes.device;
  EXPECT_TRUE(begins_pair(pair->rung.segments.front().steps, 1)) << "in less memory";
}

// A search does not return what is slower than its bound, and the bound never cuts off what is faster.
TEST_F(SplitSearchTest, ABoundCutsOffNothingElse) {
  for (const double rate : {2e9, 1e12}) {
    specs_.gpu.flops_per_second = rate;
    const SplitChoice free = choose({much, much, much}).value();
    const Seconds patch = free.rung.seconds;
    EXPECT_EQ(choose({much, much, much}, patch * 1.000001).value().rung, free.rung);
    EXPECT_THAT(choose({much, much, much}, patch).error().message, HasSubstr("slower"));
  }
}

// Problems that were asked for, as of a library that is slow to describe.
std::set<LayerProblem> asked_for;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
Result<std::vector<Estimate>> describe_slowly(const LayerProblem& problem, const DeviceSpec& spec) {
  asked_for.insert(problem);
  return test::sim_conv().describe(problem, spec);
}
Seconds min_of_slow(const LayerProblem& problem, const DeviceSpec& spec) {
  return direct_flops(problem) / spec.flops_per_second;
}
constinit const Primitive slow_conv{"sim.conv", 1, DeviceKind::gpu, describe_slowly, nullptr, min_of_slow};

Catalogue catalogue_of_slow() {
  const std::span<const Primitive* const> others = test::sim_backend().primitives.subspan(1);
  std::vector<const Primitive*> gpu(others.begin(), others.end());
  gpu.push_back(&slow_conv);
  return test::split_catalogue(gpu);
}

TEST_F(SplitSearchTest, EndsSoonAfterAStopWithWhatFits) {
  specs_.gpu.flops_per_second = 1e12;
  const Catalogue catalogue = catalogue_of_slow();
  SpaceBytes budget{much, much, 1 << 14};
  const auto through_host_ram = [&] {
    asked_for.clear();
    const Result<SplitChoice> choice = choose(catalogue, budget);
    return !choice || places(*choice).find("gpu_host_ram") != std::string::npos;
  };
  while (!through_host_ram()) budget.device -= budget.device / 8;
  const std::size_t all = asked_for.size();
  const SplitChoice free = choose(catalogue, budget).value();
  int given = 0;
  for (std::size_t most = 0; most < all; ++most) {
    asked_for.clear();
    SplitSearch search(network_, catalogue, *costs_, specs_, {}, Precision::fp32,
                       [&] { return asked_for.size() >= most; });
    const Result<SplitChoice> choice = search.best(geometry_, budget);
    EXPECT_LE(asked_for.size(), most + 4) << "no further than one layer, or one division";
    if (!choice) {
      EXPECT_TRUE(choice.error().code == ErrorCode::cancelled || choice.error().code == ErrorCode::over_budget);
      continue;
    }
    ++given;
    EXPECT_GE(choice->rung.seconds, free.rung.seconds);
    EXPECT_TRUE(budget.covers(choice->bytes));
    EXPECT_EQ(choice->bytes, pipeline_bytes(take_apart(network_, choice->rung, catalogue, specs_).value()));
  }
  EXPECT_GT(given, 0);
}

TEST_F(SplitSearchTest, HostAndPinnedBytesShareALimit) {
  const SplitChoice free = choose({much, much, much}).value();
  const std::int64_t both = free.bytes.host + free.bytes.pinned;
  EXPECT_EQ(choose({both, much, much}).value().rung, free.rung);
  const Result<SplitChoice> less = choose({both - 1, much, much});
  if (!less) return;
  EXPECT_LT(less->bytes.host + less->bytes.pinned, both);
}

TEST_F(SplitSearchTest, SaysWhatIsLacking) {
  EXPECT_THAT(choose({much, much, 100}).error().message, HasSubstr("device"));
  EXPECT_FALSE(choose({0, much, much}));
  EXPECT_FALSE(choose({0, 0, much}));
}

// With matrix units that are worth it: what is told is what the layers take, in the bytes that were counted.
TEST_F(SplitSearchTest, CoarserPrecisionIsNeverSlowerAndTakenOnlyWhereAllowed) {
  specs_.gpu.flops_per_second = 1e10;
  specs_.gpu.bytes_per_second = 1e12;
  specs_.gpu.accelerator.tf32_flops_per_second = 1e12;
  specs_.gpu.accelerator.bf16_flops_per_second = 4e12;
  specs_.gpu.accelerator.up = specs_.gpu.accelerator.down = {1e-7, 1e12};
  Seconds before = std::numeric_limits<double>::infinity();
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16}) {
    SplitSearch search(network_, catalogue_, *costs_, specs_, {}, precision);
    const SplitChoice choice = search.best(geometry_, {much, much, much}).value();
    Precision coarsest = Precision::fp32;
    for (const Segment& segment : choice.rung.segments) {
      for (const Step& step : segment.steps) {
        coarsest = std::max(coarsest, precision_of(step));
      }
    }
    EXPECT_EQ(coarsest, precision);
    EXPECT_LT(choice.seconds.patch(), before);
    EXPECT_EQ(choice.bytes, pipeline_bytes(take_apart(network_, choice.rung, catalogue_, specs_).value()));
    before = choice.seconds.patch();
  }
}

// Returns the seconds of a patch, from the calls of the segments themselves.
Seconds patch_seconds(const Network& network, const RungSegments& parts, const PlaceSpecs& specs) {
  const auto passes = static_cast<double>(pass_count(parts.geometry));
  Geometry copied = parts.geometry;
  copied.histories = no_histories(network);
  Seconds cpu = copy_seconds(network, copied, specs.cpu);
  Seconds gpu = 0;
  for (const SegmentDesign& segment : parts.segments) {
    const DeviceSpec& own = segment.place == Place::cpu ? specs.cpu : specs.gpu;
    Seconds all = 4 * static_cast<double>(history_bytes(segment.schedule)) /
                  static_cast<double>(segment.geometry.windows) / own.bytes_per_second;
    for (const Call& call : segment.schedule.calls) all += call.estimate.time;
    if (segment.place == Place::cpu) {
      cpu += passes * all;
      continue;
    }
    const AcceleratorSpec& link = specs.gpu.accelerator;
    const Shape5& out = segment.micro_batch_output();
    const Seconds up = link.up.seconds(static_cast<double>(tensor_bytes(segment.micro_batch_input(), {})));
    const Seconds down = static_cast<double>(out.S) * link.down.seconds_per_copy +
                         static_cast<double>(tensor_bytes(out, {})) / link.down.bytes_per_second;
    const Seconds longest = std::max({all, up, down});
    gpu += passes * (static_cast<double>(segment.micro_batches() - 1) * longest + all + up + down);
  }
  return std::max(cpu, gpu);
}

// The most that a layer through host RAM may take follows from the others.
TEST(SplitSearchBound, CutsOffNoLayersThroughHostRam) {
  int through_host_ram = 0;
  const Catalogue fast = test::pair_catalogue();
  const Catalogue slow = catalogue_of_slow();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  // Fewer would leave it to luck that a layer goes through host RAM.
  for (int i = 0; i < std::max(test::case_count(30), 15); ++i) {
    Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const Network network = test::random_network(random, 16);
    GeometryChoice choice = test::split_choice(network, random, random.integer(1, 3));
    if (random.chance(0.5)) choice = test::split_stream(network, random).value_or(choice);
    const Geometry geometry = make_geometry(network, choice).value();
    PlaceSpecs specs{DeviceSpec{}, test::host_sim_spec()};
    specs.gpu.flops_per_second = random.chance(0.5) ? 3e9 : 1e11;
    const SpaceBytes budget{much, much, random.integer(1 << 12, 1 << 16)};
    const auto best = [&](const Catalogue& catalogue, Seconds below) {
      return SplitSearch(network, catalogue, *costs, specs, {i % 2 == 0, true}).best(geometry, budget, below);
    };
    for (const Catalogue* catalogue : {&fast, &slow}) {
      const Result<SplitChoice> free = best(*catalogue, std::numeric_limits<double>::infinity());
      if (!free) continue;
      const std::vector<Segment>& segments = free->rung.segments;
      through_host_ram += std::any_of(segments.begin(), segments.end(),
                                      [](const Segment& segment) { return segment.place == Place::gpu_host_ram; });
      const Seconds patch = free->rung.seconds;
      EXPECT_EQ(best(*catalogue, patch * (1 + 1e-7)).value().rung, free->rung) << i;
      EXPECT_FALSE(best(*catalogue, patch)) << i;
    }
  }
  EXPECT_GT(through_host_ram, 0);
}

// Every cut and every micro-batch of one net, geometry and budget, in pairs and not, one after the other.
TEST(SplitSearchBruteForce, FindsTheFastestThatFits) {
  const Catalogue catalogue = test::pair_catalogue();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  for (int i = 0; i < test::case_count(30); ++i) {
    Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const Network network = test::random_network(random, 16);
    GeometryChoice choice = test::split_choice(network, random, random.integer(1, 3));
    if (random.chance(0.5)) choice = test::split_stream(network, random).value_or(choice);
    const Geometry geometry = make_geometry(network, choice).value();
    PlaceSpecs specs{DeviceSpec{}, test::host_sim_spec()};
    specs.gpu.flops_per_second = random.chance(0.5) ? 3e9 : 1e11;
    const SpaceBytes budget{random.integer(1 << 14, 1 << 22), random.integer(1 << 12, 1 << 20),
                            random.integer(1 << 12, 1 << 20)};
    Seconds best = std::numeric_limits<double>::infinity();
    for (const int theta : test::legal_cuts(network)) {
      const std::int64_t S = geometry.values[static_cast<std::size_t>(theta)].S;
      std::int64_t last = 2 * S;
      for (std::int64_t micro_batch = S; micro_batch >= 1; --micro_batch) {
        if (S % micro_batch != 0 || (2 * micro_batch > last && micro_batch > 1)) continue;
        last = micro_batch;
        Rung rung = test::split_rung(network, choice, theta, micro_batch, specs.cpu, specs.gpu).value();
        for (const bool in_pairs : {false, true}) {
          if (in_pairs && test::join_pairs(network, rung) == 0) continue;
          const RungSegments parts = take_apart(network, rung, catalogue, specs).value();
          const SpaceBytes bytes = pipeline_bytes(parts);
          if (!budget.covers(bytes) || bytes.host + bytes.pinned > budget.host) continue;
          best = std::min(best, patch_seconds(network, parts, specs));
        }
      }
    }
    SplitSearch search(network, catalogue, *costs, specs, {true, false});
    const Result<SplitChoice> found = search.best(geometry, budget);
    ASSERT_EQ(found.has_value(), std::isfinite(best)) << i;
    if (!found) continue;
    EXPECT_NEAR(found->rung.seconds, best, best * 1e-9) << i;
    EXPECT_EQ(found->bytes, pipeline_bytes(take_apart(network, found->rung, catalogue, specs).value()));
    SplitSearch coarse(network, catalogue, *costs, specs, {true, false}, Precision::bf16);
    const SplitChoice other = coarse.best(geometry, budget).value();
    EXPECT_LE(other.rung.seconds, found->rung.seconds * (1 + 1e-12));
    const Seconds summed = patch_seconds(network, take_apart(network, other.rung, catalogue, specs).value(), specs);
    EXPECT_NEAR(other.rung.seconds, summed, summed * 1e-9) << i;
  }
}

}  // namespace
}  // namespace znni
