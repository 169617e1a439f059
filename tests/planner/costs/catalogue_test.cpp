#include "planner/costs/catalogue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/planner/fake_primitives.hpp"

namespace znni {
namespace {

using test::blocked;
using test::planar;
using testing::ElementsAre;
using testing::HasSubstr;

Result<Catalogue> made(const std::vector<std::string>& enable, const std::vector<std::string>& disable) {
  const std::array<const Backend*, 1> backends = {&test::fake_backend()};
  return Catalogue::make(backends, enable, disable);
}

std::vector<std::string> names(const std::vector<std::string>& enable, const std::vector<std::string>& disable) {
  std::vector<std::string> result;
  const Result<Catalogue> catalogue = made(enable, disable);
  EXPECT_TRUE(catalogue) << catalogue.error().message;
  for (const Primitive* primitive : catalogue->primitives()) result.emplace_back(primitive->name);
  return result;
}

TEST(PlannerCatalogue, HoldsAllByName) {
  EXPECT_THAT(names({}, {}), ElementsAre("cpu.any", "cpu.broken", "cpu.conv.blocked", "cpu.conv.staged",
                                         "cpu.forgetful", "cpu.reorder"));
}

TEST(PlannerCatalogue, EnableThenDisable) {
  EXPECT_THAT(names({"cpu.conv.*"}, {}), ElementsAre("cpu.conv.blocked", "cpu.conv.staged", "cpu.reorder"));
  EXPECT_THAT(names({"cpu.conv.*", "cpu.any"}, {"cpu.conv.b*"}),
              ElementsAre("cpu.any", "cpu.conv.staged", "cpu.reorder"));
  EXPECT_THAT(names({}, {"cpu.conv*", "cpu.forgetful"}), ElementsAre("cpu.any", "cpu.broken", "cpu.reorder"));
}

TEST(PlannerCatalogue, ReordersAreAlwaysKept) { EXPECT_THAT(names({}, {"*"}), ElementsAre("cpu.reorder")); }

TEST(PlannerCatalogue, NamesWithoutAStarMatchInFull) {
  EXPECT_THAT(names({"cpu.any"}, {}), ElementsAre("cpu.any", "cpu.reorder"));
  EXPECT_FALSE(made({"cpu.an"}, {}));
}

TEST(PlannerCatalogue, UnknownNamesListTheKnown) {
  const Result<Catalogue> enabled = made({"cpu.any", "cpu.convv"}, {});
  ASSERT_FALSE(enabled);
  EXPECT_EQ(enabled.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(enabled.error().message, HasSubstr("--enable cpu.convv"));
  EXPECT_THAT(enabled.error().message, HasSubstr("cpu.any, cpu.broken, cpu.conv.blocked"));
  EXPECT_THAT(made({}, {"gpu*"}).error().message, HasSubstr("--disable gpu*"));
  EXPECT_FALSE(made({""}, {}));
}

TEST(PlannerCatalogue, FingerprintIsSortedNamesAndVersions) {
  EXPECT_EQ(made({"cpu.conv.*"}, {})->fingerprint(), "cpu.conv.blocked:3 cpu.conv.staged:1 cpu.reorder:1");
}

// Returns a back end with one primitive for float32, and one for bf16 of each kind of device.
const Backend& mixed_backend() {
  static constexpr Primitive strict{"cpu.conv.x", 1, DeviceKind::cpu, nullptr, nullptr};
  static constexpr Primitive coarse{"cpu.conv.x_bf16", 1, DeviceKind::cpu, nullptr, nullptr};
  static constexpr Primitive of_gpu{"gpu.conv.x_bf16", 1, DeviceKind::gpu, nullptr, nullptr};
  static constexpr std::array<const Primitive*, 3> all = {&strict, &coarse, &of_gpu};
  static const Backend backend{"mixed", nullptr, nullptr, all};
  return backend;
}

TEST(PlannerCatalogue, HoldsCoarserPrimitivesIfItIsAsked) {
  const std::array<const Backend*, 1> backends = {&mixed_backend()};
  const std::string strict = "cpu.conv.x:1 gpu.conv.x_bf16:1";
  const std::string all = "cpu.conv.x:1 cpu.conv.x_bf16:1 gpu.conv.x_bf16:1";
  EXPECT_EQ(Catalogue::make(backends)->fingerprint(), strict);
  EXPECT_EQ(Catalogue::make(backends, {}, {}, Precision::tf32)->fingerprint(), strict);
  const Result<Catalogue> coarse = Catalogue::make(backends, {}, {}, Precision::bf16);
  EXPECT_EQ(coarse->fingerprint(), all);
  EXPECT_EQ(coarse->within(Precision::bf16).fingerprint(), all);
  EXPECT_EQ(coarse->within(Precision::fp32).fingerprint(), strict);
  EXPECT_EQ(Catalogue::make(backends, {"cpu*"})->fingerprint(), "cpu.conv.x:1");
  EXPECT_EQ(Catalogue::make(backends, {}, {"cpu.conv.x_bf16"})->fingerprint(), strict);
  const Result<Catalogue> wanted = Catalogue::make(backends, {"cpu.conv.x_*"});
  ASSERT_FALSE(wanted);
  EXPECT_EQ(wanted.error().message, "--enable cpu.conv.x_*: cpu.conv.x_bf16 goes with --precision bf16");
}

TEST(PlannerCatalogue, FindsByName) {
  const Catalogue catalogue = test::fake_catalogue();
  ASSERT_NE(catalogue.find("cpu.any"), nullptr);
  EXPECT_EQ(catalogue.find("cpu.any")->version, 2);
  EXPECT_EQ(catalogue.find("cpu.an"), nullptr);
  EXPECT_EQ(Catalogue().find("cpu.any"), nullptr);
}

TEST(PlannerCatalogue, EstimateOfAStep) {
  const Catalogue catalogue = test::fake_catalogue();
  const ConvProblem problem{{1, 2, Vec3::cube(4)}, 3, Vec3::cube(2), Vec3::cube(1), Vec3::cube(1), {}};
  const DeviceSpec spec = test::fake_device();
  const Result<Estimate> two = catalogue.find_estimate("cpu.conv.staged", problem, spec, {{"part", 2}}, planar, planar);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->memory[1].bytes, 2 * test::fake_transform_bytes);
  const Result<Estimate> mixed = catalogue.find_estimate("cpu.conv.blocked", problem, spec, {}, planar, blocked);
  ASSERT_TRUE(mixed);
  EXPECT_EQ(mixed->in, planar);
}

TEST(PlannerCatalogue, StepsThatNoLongerFitAreRefusedInWords) {
  const Catalogue catalogue = test::fake_catalogue();
  const ConvProblem problem{{1, 2, Vec3::cube(4)}, 3, Vec3::cube(2), Vec3::cube(1), Vec3::cube(1), {}};
  const auto failure = [&](const char* name, const Variant& variant, Format in, Format out) {
    const Result<Estimate> found = catalogue.find_estimate(name, problem, test::fake_device(), variant, in, out);
    return found ? "no failure" : found.error().message;
  };
  EXPECT_THAT(failure("cpu.gone", {}, planar, planar), HasSubstr("unknown primitive cpu.gone; there are cpu.any"));
  EXPECT_THAT(failure("cpu.any", {}, planar, planar), HasSubstr("cpu.any: no convolutions"));
  EXPECT_THAT(failure("cpu.conv.staged", {{"part", 9}}, planar, planar), HasSubstr("variant \"part=9\""));
  EXPECT_THAT(failure("cpu.conv.staged", {{"part", 1}}, planar, blocked), HasSubstr("f32:planar -> f32:blocked8"));
}

}  // namespace
}  // namespace znni
