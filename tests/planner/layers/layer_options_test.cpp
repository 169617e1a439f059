#include "planner/layers/layer_options.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "planner/base/parallel.hpp"
#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

const LayerProblem small_conv = ConvProblem{{1, 2, Vec3::cube(8)}, 3, Vec3::cube(2), Vec3::cube(1), Vec3::cube(1), {}};
const LayerProblem sum = AddProblem{{1, 2, Vec3::cube(8)}, 2, {}};

MemoryPlan memory_plan() {
  return {{"input 0", MemorySpace::host, 100, Lifetime::stages(0, 0)},
          {"input 1", MemorySpace::host, 1000, Lifetime::stages(0, 1)},
          {"output", MemorySpace::host, 640, Lifetime::stages(1, 1)},
          {"early", MemorySpace::host, 64, Lifetime::stages(0, 0)},
          {"late", MemorySpace::host, 6400, Lifetime::stages(2, 2)},
          {"kept", MemorySpace::host, 1 << 20, Lifetime::plan()},
          {"elsewhere", MemorySpace::device, 1 << 20, Lifetime::stages(0, 2)}};
}

TEST(PlannerLayerOptions, PeakOfACallCountsWholeBuffersStageByStage) {
  // Stage 0: 128 + 1024 + 64; stage 1: 1024 + 640; stage 2: the output lives on, 640 + 6400.
  EXPECT_EQ(call_peak(memory_plan(), {{0, true}, {1, true}}), 7040);
  // An input that lives on is alive to the end.
  EXPECT_EQ(call_peak(memory_plan(), {{0, true}, {1, false}}), 7040 + 1024);
  EXPECT_EQ(call_peak(memory_plan(), {{0, false}, {1, false}}), 7040 + 1024 + 128);
}

TEST(PlannerLayerOptions, TheSameTensorTwiceCountsOnceUpToItsLastUse) {
  MemoryPlan plan = {{"input 0", MemorySpace::host, 640, Lifetime::stages(0, 0)},
                     {"input 1", MemorySpace::host, 640, Lifetime::stages(0, 1)},
                     {"output", MemorySpace::host, 640, Lifetime::stages(1, 1)}};
  EXPECT_EQ(call_peak(plan, {{0, true}, {0, true}}), 1280);
  EXPECT_EQ(call_peak(plan, {{0, true}, {1, true}}), 1280);
  plan[2].lifetime.first = 0;
  EXPECT_EQ(call_peak(plan, {{0, true}, {0, true}}), 1280);
  EXPECT_EQ(call_peak(plan, {{0, true}, {1, true}}), 1920);
}

class PlannerOptionTable : public testing::Test {
 protected:
  Catalogue catalogue_ = drawn::catalogue();
  DeviceSpec spec_;
  std::unique_ptr<CostSource> costs_ = modelled_costs();
  OptionTable table_{catalogue_, spec_, *costs_};
};

TEST_F(PlannerOptionTable, NothingKeptIsBeatenByAnother) {
  for (const LayerProblem& problem : {small_conv, sum}) {
    const std::vector<InputUse> uses(static_cast<std::size_t>(input_count(problem)), InputUse{});
    const LayerOptions& options = table_.get(problem, uses);
    ASSERT_FALSE(options.empty());
    for (const LayerOption& a : options) {
      for (const LayerOption& b : options) {
        if (&a == &b || a.in != b.in || a.out != b.out) continue;
        EXPECT_FALSE(a.cost.seconds <= b.cost.seconds && a.persistent <= b.persistent && a.peak <= b.peak);
      }
    }
  }
}

TEST_F(PlannerOptionTable, OfEqualsTheFirstByNameStays) {
  const std::array<Primitive, 3> twins = drawn::twins_of(drawn::conv);
  const std::array<const Primitive*, 3> primitives = {&twins[0], &twins[1], &twins[2]};
  const Backend backend{"twins", nullptr, nullptr, primitives};
  const std::array<const Backend*, 1> backends = {&backend};
  const Catalogue catalogue = Catalogue::make(backends).value();
  OptionTable table(catalogue, spec_, *costs_);
  const LayerOptions& options = table.get(small_conv, {InputUse{}});
  ASSERT_FALSE(options.empty());
  for (const LayerOption& option : options) EXPECT_EQ(option.primitive->name, "twin.a");
}

TEST_F(PlannerOptionTable, EveryPairOfFormatsKeepsItsFastest) {
  const LayerOptions& options = table_.get(small_conv, {InputUse{}});
  for (const Primitive* primitive : catalogue_.primitives()) {
    const Result<std::vector<Estimate>> estimates = primitive->describe(small_conv, spec_);
    if (!estimates) continue;
    for (const Estimate& estimate : *estimates) {
      const bool as_fast = std::any_of(options.begin(), options.end(), [&](const LayerOption& option) {
        return option.in == estimate.in && option.out == estimate.out && option.cost.seconds <= estimate.time;
      });
      EXPECT_TRUE(as_fast) << primitive->name;
    }
  }
}

// The planes before those that a call reads and writes are counted as long as its tensors.
TEST_F(PlannerOptionTable, HistoriesAreCountedWithTheirTensors) {
  const Estimate estimate = drawn::describe_conv(small_conv, spec_)->front();
  const MemoryPlan longer = with_whole_tensors(small_conv, estimate, {{0, true, {3, 0, 0}}}, {2, 0, 0});
  Shape5 before = input_shape(small_conv, 0);
  before.n.z = 3;
  Shape5 behind = output_shape(small_conv);
  behind.n.z = 2;
  for (std::size_t i = 0; i < longer.size(); ++i) {
    std::int64_t more = 0;
    if (longer[i].name == input_name(0)) more = tensor_bytes(before, estimate.in);
    if (longer[i].name == output_name) more = tensor_bytes(behind, estimate.out);
    EXPECT_EQ(longer[i].bytes, estimate.memory[i].bytes + more) << longer[i].name;
  }
  const LayerOptions& alone = table_.get(small_conv, {InputUse{}});
  const LayerOptions& kept = table_.get(small_conv, {InputUse{}}, nullptr, {2, 0, 0});
  EXPECT_NE(&alone, &kept);
  for (const LayerOption& option : alone) EXPECT_EQ(option.peak, option.reordered_peak);
  for (const LayerOption& option : kept) EXPECT_GE(option.peak, option.reordered_peak);
}

// The descriptions of a primitive as slow as a library, which refuses one of two ways that were outlined.
int described = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
Result<std::vector<Estimate>> describe_slowly(const LayerProblem& problem, const DeviceSpec& spec) {
  ++described;
  Result<std::vector<Estimate>> estimates = drawn::describe_conv(problem, spec);
  if (estimates) estimates->pop_back();
  return estimates;
}
std::vector<Estimate> outline(const LayerProblem& problem, const DeviceSpec& spec) {
  Result<std::vector<Estimate>> estimates = drawn::describe_conv(problem, spec);
  if (!estimates) return {};
  for (Estimate& estimate : *estimates) estimate.memory.clear();
  return *std::move(estimates);
}

Catalogue catalogue_of(const Primitive& one) {
  const std::array<const Primitive*, 4> primitives = {&drawn::other_conv, &one, &drawn::conv, &drawn::rest};
  const Backend backend{"slow", nullptr, nullptr, primitives};
  const std::array<const Backend*, 1> backends = {&backend};
  return Catalogue::make(backends).value();
}

// Expects a table to describe by `slow`, which stands between the others by name, only for all ways, and then to have
// those of one that always describes.
void expect_the_same_ways(const Primitive& slow) {
  Primitive open = slow;
  open.outline = nullptr;
  open.min_time = nullptr;
  const DeviceSpec spec;
  const std::unique_ptr<CostSource> costs = modelled_costs();
  const Catalogue with_slow = catalogue_of(slow);
  const Catalogue with_open = catalogue_of(open);
  OptionTable table(with_slow, spec, *costs);
  OptionTable expected(with_open, spec, *costs);
  for (std::int64_t edge = 2; edge < 40; ++edge) {
    const LayerProblem problem =
        ConvProblem{{1, 2, Vec3::cube(edge)}, 3, Vec3::cube(2), Vec3::cube(1), Vec3::cube(1), {}};
    const LayerOptions& options = expected.get(problem, {InputUse{}});
    described = 0;
    const Seconds least = table.min_seconds(problem, {InputUse{}});
    EXPECT_EQ(described, 0);
    EXPECT_GT(least, 0);
    const LayerOptions& found = table.get(problem, {InputUse{}});
    EXPECT_EQ(described, 1);
    ASSERT_EQ(found.size(), options.size()) << edge;
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].primitive->name, options[i].primitive->name);
      EXPECT_EQ(found[i].estimate, options[i].estimate);
      EXPECT_EQ(found[i].cost.seconds, options[i].cost.seconds);
      EXPECT_EQ(found[i].peak, options[i].peak);
      EXPECT_LE(least, found[i].cost.seconds);
    }
    EXPECT_EQ(table.min_seconds(problem, {InputUse{}}), least);
  }
  EXPECT_EQ(table.min_seconds(sum, {InputUse{}, InputUse{}}), expected.min_seconds(sum, {InputUse{}, InputUse{}}));
  EXPECT_TRUE(std::isinf(table.min_seconds(sum, {InputUse{}, InputUse{}}, &drawn::conv)));
}

TEST_F(PlannerOptionTable, AsksALibraryOnlyForAllWays) {
  const Primitive slow{"drawn.conv.ab", 1, DeviceKind::cpu, describe_slowly, drawn::never_prepared, nullptr, outline};
  expect_the_same_ways(slow);
}

Seconds min_time(const LayerProblem& problem, const DeviceSpec& spec) {
  const std::vector<Estimate> estimates = outline(problem, spec);
  Seconds least = std::numeric_limits<Seconds>::infinity();
  for (const Estimate& estimate : estimates) least = std::min(least, 0.7 * estimate.time);
  return least;
}

TEST_F(PlannerOptionTable, AsksForTheBoundOfAFormulaFirst) {
  expect_the_same_ways({"drawn.conv.ab", 1, DeviceKind::cpu, describe_slowly, drawn::never_prepared, min_time});
}

// Costs that are not those of the formulas: its bound says nothing about them.
class TenthOfFormulas final : public CostSource {
 public:
  Cost cost(const LayerProblem&, const Primitive&, const Estimate& estimate) override {
    return {0.1 * estimate.time, Basis::model};
  }
};

TEST_F(PlannerOptionTable, AsksForNoBoundOfAFormulaThatIsCorrected) {
  TenthOfFormulas costs;
  const Primitive slow{"drawn.conv.ab", 1, DeviceKind::cpu, describe_slowly, drawn::never_prepared, min_time};
  const Catalogue catalogue = catalogue_of(slow);
  OptionTable table(catalogue, spec_, costs);
  const Seconds least = table.min_seconds(small_conv, {InputUse{}}, &slow);
  const LayerOptions& options = table.get(small_conv, {InputUse{}}, &slow);
  ASSERT_FALSE(options.empty());
  for (const LayerOption& option : options) EXPECT_LE(least, option.cost.seconds);
}

TEST_F(PlannerOptionTable, RemembersByProblemUseAndForcedPrimitive) {
  const LayerOptions& first = table_.get(small_conv, {InputUse{}});
  EXPECT_EQ(&table_.get(small_conv, {InputUse{}}), &first);
  EXPECT_NE(&table_.get(small_conv, {{0, false}}), &first);
  const LayerOptions& forced = table_.get(small_conv, {InputUse{}}, &drawn::other_conv);
  for (const LayerOption& option : forced) EXPECT_EQ(option.primitive, &drawn::other_conv);
  EXPECT_FALSE(forced.empty());
}

// Each is collected once, by the first that asks; all get the same.
TEST_F(PlannerOptionTable, ManyThreadsMayAsk) {
  std::vector<const LayerOptions*> found(400);
  parallel_for(5, found.size(), [&](std::size_t i) {
    const LayerProblem problem = AcrossChannelsProblem{{1, 2, Vec3::cube(static_cast<std::int64_t>(1 + i % 20))}};
    found[i] = &table_.get(problem, {InputUse{}});
  });
  for (std::size_t i = 20; i < found.size(); ++i) EXPECT_EQ(found[i], found[i - 20]);
  EXPECT_FALSE(found.front()->empty());
}

TEST_F(PlannerOptionTable, CollectsReasons) {
  EXPECT_TRUE(table_.get(sum, {InputUse{}, InputUse{}}, &drawn::conv).empty());
  EXPECT_EQ(table_.refusals(sum, &drawn::conv), "drawn.conv.a: not a convolution");
  EXPECT_NE(table_.refusals(sum, nullptr).find("; drawn.conv.b: not a convolution"), std::string::npos);
}

TEST_F(PlannerOptionTable, OtherKindsOfDevicesTakeNoPart) {
  DeviceSpec gpu;
  gpu.kind = DeviceKind::gpu;
  OptionTable table(catalogue_, gpu, *costs_);
  EXPECT_TRUE(table.get(small_conv, {InputUse{}}).empty());
}

}  // namespace
}  // namespace znni
