#include "planner/layers/fastest_ways.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/planner/drawn_primitives.hpp"

namespace znni {
namespace {

const LayerProblem problem = ConvProblem{.in = {1, 3, {9, 8, 7}}, .f_out = 4, .k = {3, 3, 3}, .activation = {}};

// Twice as long by the records as by the formula, but for one primitive.
class Doubled final : public CostSource {
 public:
  explicit Doubled(Basis basis) : basis_(basis) {}
  Cost cost(const LayerProblem&, const Primitive& primitive, const Estimate& estimate) override {
    ++asked;
    return {primitive.name == "drawn.conv.b" ? estimate.time / 100 : 2 * estimate.time, basis_, 0.1};
  }
  int asked = 0;

 private:
  Basis basis_;
};

TEST(FastestWays, AreThePlanarOnesOfTheLeastCost) {
  const Catalogue catalogue = drawn::catalogue();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  const DeviceSpec spec;
  FastestWays ways(DeviceKind::cpu, spec, catalogue, *costs);
  const Step step = ways.get(problem).value();
  Seconds least = 1e300;
  for (const Primitive* primitive : {&drawn::conv, &drawn::other_conv}) {
    const std::vector<Estimate> estimates = primitive->describe(problem, {}).value();
    for (const Estimate& estimate : estimates) {
      if (level_of(estimate) == Precision::fp32) least = std::min(least, estimate.time);
    }
  }
  EXPECT_EQ(step.seconds, least);
  EXPECT_EQ(step.node, 0);
  EXPECT_EQ(step.in, Format{});
  EXPECT_EQ(step.native, Format{});
}

TEST(FastestWays, GoByCostsAndAskOnce) {
  const Catalogue catalogue = drawn::catalogue();
  const DeviceSpec spec;
  Doubled costs(Basis::recorded);
  FastestWays ways(DeviceKind::cpu, spec, catalogue, costs);
  const Step step = ways.get(problem).value();
  EXPECT_EQ(step.primitive, "drawn.conv.b");
  EXPECT_EQ(step.basis, Basis::recorded);
  EXPECT_EQ(step.error, 0.1);
  const int asked = costs.asked;
  EXPECT_EQ(ways.get(problem).value(), step);
  EXPECT_EQ(costs.asked, asked);
}

// Whatever the order of registration: catalogues are sorted by name.
TEST(FastestWays, OfEqualsTheFirstByNameWins) {
  const std::array<Primitive, 3> twins = drawn::twins_of(drawn::conv);
  const std::array<const Primitive*, 3> primitives = {&twins[0], &twins[1], &twins[2]};
  const Backend backend{"twins", nullptr, nullptr, primitives};
  const std::array<const Backend*, 1> backends = {&backend};
  const Catalogue catalogue = Catalogue::make(backends).value();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  const DeviceSpec spec;
  FastestWays ways(drawn::conv.device, spec, catalogue, *costs);
  EXPECT_EQ(ways.get(problem).value().primitive, "twin.a");
}

// Corrections of formulas are learned from the CPU's records.
TEST(FastestWays, OfAGpuGoByItsFormulasAndItsOwnRecords) {
  Primitive own = drawn::conv;
  own.device = DeviceKind::gpu;
  const std::array<const Primitive*, 1> primitives = {&own};
  const Backend backend{"card", nullptr, nullptr, primitives};
  const std::array<const Backend*, 1> backends = {&backend};
  const Catalogue catalogue = Catalogue::make(backends).value();
  const DeviceSpec spec;
  const Seconds formula = drawn::conv.describe(problem, spec).value().front().time;
  for (const Basis basis : {Basis::model, Basis::recorded}) {
    Doubled costs(basis);
    FastestWays ways(DeviceKind::gpu, spec, catalogue, costs);
    EXPECT_EQ(ways.get(problem).value().seconds, basis == Basis::model ? formula : 2 * formula);
    EXPECT_EQ(ways.get(problem).value().error > 0, basis == Basis::recorded) << "that of other primitives";
  }
}

Result<std::vector<Estimate>> describe_rounded(const LayerProblem& of, const DeviceSpec& spec) {
  Result<std::vector<Estimate>> estimates = drawn::conv.describe(of, spec);
  if (!estimates) return estimates;
  for (Estimate& estimate : *estimates) {
    estimate.variant.push_back({"tf32", 1});
    estimate.time /= 100;
  }
  return estimates;
}

// However fast they are.
TEST(FastestWays, TakeNoProductsInTf32) {
  Primitive rounded = drawn::other_conv;
  rounded.describe = &describe_rounded;
  const std::array<const Primitive*, 2> primitives = {&drawn::conv, &rounded};
  const Backend backend{"card", nullptr, nullptr, primitives};
  const std::array<const Backend*, 1> backends = {&backend};
  const Catalogue catalogue = Catalogue::make(backends).value();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  const DeviceSpec spec;
  FastestWays strict(drawn::conv.device, spec, catalogue, *costs);
  EXPECT_EQ(strict.get(problem).value().primitive, drawn::conv.name);
  FastestWays ways(drawn::conv.device, spec, catalogue, *costs, Precision::bf16);
  EXPECT_EQ(ways.get(problem).value().primitive, drawn::conv.name);
  EXPECT_EQ(ways.in_formats(problem, Precision::fp32), std::vector{ways.get(problem).value()});
  for (const Precision precision : {Precision::tf32, Precision::bf16}) {
    EXPECT_EQ(ways.in_formats(problem, precision).front().primitive, rounded.name);
  }
}

// Describes ways of a second each, half of one for the last.
Result<std::vector<Estimate>> describe_formats(const LayerProblem&, const DeviceSpec&) {
  return std::vector<Estimate>{{{}, {}, {}, 1, {}},
                               {{}, {}, last_f32, 1, {}},
                               {{{"tf32", 1}}, last_f32, last_f32, 1, {}},
                               {{}, last_bf16, last_bf16, 1, {}},
                               {{}, {ElementType::f16, Layout::planar}, {}, 1, {}},
                               {{{"tf32", 1}, {"engine", 2}}, last_f32, last_f32, 0.5, {}}};
}

TEST(FastestWays, OfferEveryPairOfFormatsThatThePrecisionAllows) {
  const Primitive own{"card.conv", 1, DeviceKind::gpu, describe_formats, nullptr};
  const std::array<const Primitive*, 1> primitives = {&own};
  const Backend backend{"card", nullptr, nullptr, primitives};
  const std::array<const Backend*, 1> backends = {&backend};
  const Catalogue catalogue = Catalogue::make(backends).value();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  const DeviceSpec spec;
  FastestWays ways(DeviceKind::gpu, spec, catalogue, *costs, Precision::bf16);
  EXPECT_EQ(ways.in_formats(problem, Precision::fp32).size(), 1U);
  const std::vector<LayerWay>& tf32 = ways.in_formats(problem, Precision::tf32);
  ASSERT_EQ(tf32.size(), 3U);
  EXPECT_EQ(tf32[1].native, last_f32);
  EXPECT_EQ(tf32[2].seconds, 0.5);
  EXPECT_EQ(ways.in_formats(problem, Precision::bf16).size(), 4U);
}

// The descriptions of a primitive that is as slow to describe as a library, but for its least time.
int described = 0;        // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
Seconds min_of_slow = 0;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)
Result<std::vector<Estimate>> describe_slowly(const LayerProblem& of, const DeviceSpec& spec) {
  ++described;
  return describe_formats(of, spec);
}
Seconds min_time(const LayerProblem&, const DeviceSpec&) { return min_of_slow; }
Result<std::vector<Estimate>> describe_quickly(const LayerProblem&, const DeviceSpec&) {
  return std::vector<Estimate>{{{}, {}, {}, 0.9, {}}};
}

// The answers are those of one that is described at once.
TEST(FastestWays, AskALibraryOnlyWhereItMayBeTheFastest) {
  const Primitive slow{"card.slow", 1, DeviceKind::gpu, describe_slowly, nullptr, min_time};
  const Primitive open{"card.slow", 1, DeviceKind::gpu, describe_formats, nullptr};
  const Primitive quick{"card.quick", 1, DeviceKind::gpu, describe_quickly, nullptr};
  const DeviceSpec spec;
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    for (const double least : {0.25, 0.9, 0.95}) {
      for (const bool recorded : {false, true}) {
        if (precision == Precision::bf16 && least > 0.5) continue;  // half a second is what the last takes
        min_of_slow = least;
        described = 0;
        Doubled records(Basis::model);
        const std::unique_ptr<CostSource> formulas = modelled_costs();
        CostSource& costs = recorded ? records : *formulas;
        const auto catalogue_of = [&](const Primitive& one) {
          const std::array<const Primitive*, 2> primitives = {&one, &quick};
          const Backend backend{"card", nullptr, nullptr, primitives};
          const std::array<const Backend*, 1> backends = {&backend};
          return Catalogue::make(backends).value();
        };
        const Catalogue with_slow = catalogue_of(slow);
        const Catalogue with_open = catalogue_of(open);
        FastestWays ways(DeviceKind::gpu, spec, with_slow, costs, precision);
        FastestWays expected(DeviceKind::gpu, spec, with_open, costs, precision);
        EXPECT_LE(ways.min_seconds(problem), expected.min_seconds(problem));
        EXPECT_EQ(described, recorded ? 1 : 0) << "records may say less than the formula";
        EXPECT_EQ(ways.in_formats(problem, precision), expected.in_formats(problem, precision));
        EXPECT_EQ(ways.get(problem).value(), expected.get(problem).value());
        EXPECT_EQ(described, recorded || precision == Precision::bf16 || least <= 0.9 ? 1 : 0);
        EXPECT_EQ(ways.min_seconds(problem), expected.min_seconds(problem));
      }
    }
  }
}

std::vector<Estimate> outline_blocked(const LayerProblem&, const DeviceSpec&) {
  return {{{}, {}, {ElementType::f32, Layout::blocked16}, 0.1, {}}};
}
std::vector<Estimate> outline_planar(const LayerProblem&, const DeviceSpec&) { return {{{}, {}, {}, 0.1, {}}}; }

// Blocked tensors of a CPU are none of a plan's edges.
TEST(FastestWays, AskNoLibraryForFormatsThatDoNotCount) {
  Primitive slow{"host.slow", 1, DeviceKind::cpu, describe_slowly, nullptr, nullptr, outline_blocked};
  const std::unique_ptr<CostSource> costs = modelled_costs();
  const DeviceSpec spec;
  for (const bool counts : {false, true}) {
    slow.outline = counts ? outline_planar : outline_blocked;
    const std::array<const Primitive*, 1> primitives = {&slow};
    const Backend backend{"host", nullptr, nullptr, primitives};
    const std::array<const Backend*, 1> backends = {&backend};
    const Catalogue catalogue = Catalogue::make(backends).value();
    FastestWays ways(DeviceKind::cpu, spec, catalogue, *costs);
    described = 0;
    EXPECT_EQ(ways.get(problem).has_value(), counts);
    EXPECT_EQ(described, counts ? 1 : 0);
  }
}

TEST(FastestWays, SayWhereThereIsNone) {
  const Catalogue catalogue = drawn::catalogue();
  const std::unique_ptr<CostSource> costs = modelled_costs();
  const DeviceSpec spec;
  FastestWays ways(DeviceKind::gpu, spec, catalogue, *costs);
  EXPECT_TRUE(std::isinf(ways.min_seconds(problem)));
  EXPECT_NE(ways.get(problem).error().message.find("no primitive computes conv 1x3x9x8x7"), std::string::npos);
}

}  // namespace
}  // namespace znni
