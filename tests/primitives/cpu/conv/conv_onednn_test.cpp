#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "primitives/cpu/backend.hpp"
#include "tests/support/harness.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu {

extern const Primitive conv_onednn;

namespace {

std::unique_ptr<Device> open_device(int threads, int simd_floats = 0) {
  DeviceSpec spec = describe_cpu(threads);
  if (simd_floats > 0) spec.simd_floats = simd_floats;
  Result<std::unique_ptr<Device>> device = backend().open(spec, std::int64_t{1} << 30, 0, 0);
  return std::move(device.value());
}

bool has_vectors() { return describe_cpu(1).simd_floats >= 8; }

// Number of workers and vector width.
class OnednnWorkers : public testing::TestWithParam<std::pair<int, int>> {
 protected:
  void SetUp() override {
    const auto [threads, simd_floats] = GetParam();
    if (simd_floats > describe_cpu(1).simd_floats) GTEST_SKIP() << "this processor has no such vectors";
    device_ = open_device(threads, simd_floats);
  }
  std::unique_ptr<Device> device_;
};

TEST_P(OnednnWorkers, RandomConvolutionsAgreeWithTheOracle) {
  for (int index = 0; index < test::case_count(15); ++index) {
    const std::uint64_t seed = test::base_seed() * 100 + static_cast<std::uint64_t>(index);
    test::Random random(seed);
    test::check_primitive(conv_onednn, test::random_conv(random, 1e7), *device_, seed);
  }
}

TEST_P(OnednnWorkers, StridedConvolutionsAgreeWithTheOracle) {
  for (int index = 0; index < test::case_count(15); ++index) {
    const std::uint64_t seed = test::base_seed() * 100 + static_cast<std::uint64_t>(index);
    test::Random random(seed);
    ConvProblem problem = test::random_strided_conv(random, 1e7);
    if (index % 3 == 0) problem.stride = Vec3::cube(2);
    test::check_primitive(conv_onednn, problem, *device_, seed);
  }
}

// Extreme legal values of k, dilation, S, f, f_out and n; every activation with channels that pad a block.
TEST_P(OnednnWorkers, EdgesAgreeWithTheOracle) {
  const ConvProblem problems[] = {
      {{1, 1, {1, 1, 1}}, 1, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}},                               // one voxel
      {{1, 1, {9, 9, 9}}, 1, {9, 9, 9}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::relu, 0}},        // k covers the input
      {{1, 16, {1, 17, 33}}, 3, {1, 4, 2}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::sigmoid, 0}},  // two dimensions
      {{2, 3, {1, 1, 70}}, 2, {1, 1, 7}, {1, 1, 3}, {1, 1, 1}, {ActivationKind::tanh, 0}},       // one dimension
      {{2, 17, {4, 6, 8}}, 3, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::gelu, 0}},       // activated apart
      {{1, 16, {4, 6, 8}}, 5, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::capped_relu, 0.5F}},
      {{1, 16, {4, 6, 8}}, 5, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::softplus, 0}},
      {{5, 17, {4, 6, 8}}, 33, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::elu, 0.5F}},  // just above a block
      {{1, 15, {8, 5, 12}}, 15, {3, 2, 4}, {2, 3, 1}, {1, 1, 1}, {ActivationKind::leaky_relu, 0.2F}},  // just below
      {{1, 32, {6, 11, 13}}, 9, {1, 1, 1}, {4, 4, 4}, {1, 1, 1}, {ActivationKind::relu, 0}},           // k = 1, dilated
      {{2, 16, {13, 5, 34}}, 16, {4, 2, 6}, {4, 3, 5}, {1, 1, 1}, {}},                          // wide dilation, even k
      {{1, 16, {20, 40, 16}}, 16, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::relu, 0}},  // slabs of several rows
      {{1, 16, {20, 40, 17}}, 16, {3, 3, 3}, {1, 1, 1}, {2, 2, 2}, {ActivationKind::relu, 0}},  // the same, strided
      {{1, 3, {9, 21, 12}}, 20, {2, 2, 2}, {1, 1, 1}, {2, 3, 2}, {}, true},  // rests, a stride above the window
  };
  std::uint64_t seed = 70;
  for (const ConvProblem& problem : problems) test::check_primitive(conv_onednn, problem, *device_, ++seed);
}

INSTANTIATE_TEST_SUITE_P(ConvOnednn, OnednnWorkers,
                         testing::Values(std::pair{1, 16}, std::pair{2, 16}, std::pair{3, 16}, std::pair{2, 8}));

// Searches ask the library only for what the outline leaves in doubt.
TEST(ConvOnednn, OutlinesWhatItDescribes) {
  if (!has_vectors()) GTEST_SKIP() << "no AVX2";
  const DeviceSpec spec = describe_cpu(2);
  for (int index = 0; index < 20; ++index) {
    test::Random random(static_cast<std::uint64_t>(index));
    const ConvProblem problem =
        index % 2 == 0 ? test::random_conv(random, 1e7) : test::random_strided_conv(random, 1e7);
    const Result<std::vector<Estimate>> estimates = conv_onednn.describe(problem, spec);
    const std::vector<Estimate> outlined = conv_onednn.outline(problem, spec);
    EXPECT_FALSE(outlined.empty());
    auto next = outlined.begin();
    for (const Estimate& estimate : estimates ? *estimates : std::vector<Estimate>()) {
      next = std::find_if(next, outlined.end(), [&](const Estimate& other) { return other.in == estimate.in; });
      ASSERT_NE(next, outlined.end());
      EXPECT_EQ(next->variant, estimate.variant);
      EXPECT_EQ(next->out, estimate.out);
      EXPECT_EQ(next->time, estimate.time);
      EXPECT_TRUE(next->memory.empty());
    }
  }
  EXPECT_TRUE(conv_onednn.outline(AcrossChannelsProblem{{1, 3, {2, 2, 2}}}, spec).empty());
}

TEST(ConvOnednn, OffersPlanarInputsToFirstLayersOnly) {
  if (!has_vectors()) GTEST_SKIP() << "no AVX2";
  const DeviceSpec spec = describe_cpu(2);
  const auto layouts = [&](std::int64_t f) {
    const ConvProblem problem{{1, f, {8, 8, 8}}, 5, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {}};
    const Result<std::vector<Estimate>> estimates = conv_onednn.describe(problem, spec);
    std::set<Layout> found;
    if (!estimates) return found;
    for (const Estimate& estimate : *estimates) {
      EXPECT_NE(estimate.out.layout, Layout::planar);
      found.insert(estimate.in.layout);
    }
    return found;
  };
  const Layout blocked = spec.simd_floats == 16 ? Layout::blocked16 : Layout::blocked8;
  EXPECT_EQ(layouts(1), (std::set<Layout>{Layout::planar, blocked}));
  EXPECT_EQ(layouts(80), (std::set<Layout>{blocked}));
}

TEST(ConvOnednn, RefusesWhatItHasNoFastCodeFor) {
  DeviceSpec spec = describe_cpu(2);
  const Result<std::vector<Estimate>> no_conv = conv_onednn.describe(AcrossChannelsProblem{{1, 2, {3, 3, 3}}}, spec);
  ASSERT_FALSE(no_conv);
  EXPECT_EQ(no_conv.error().code, ErrorCode::unsupported);
  const ConvProblem problem{{1, 80, {8, 8, 8}}, 80, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {}};
  spec.simd_floats = 4;
  const Result<std::vector<Estimate>> no_vectors = conv_onednn.describe(problem, spec);
  ASSERT_FALSE(no_vectors);
  EXPECT_NE(no_vectors.error().message.find("AVX2"), std::string::npos) << no_vectors.error().message;
}

TEST(ConvOnednn, DescribesHugeLayersOrRefusesThemInWords) {
  const std::int64_t big = std::int64_t{1} << 28;
  const ConvProblem problems[] = {{{1, 80, {big, big, 1}}, 80, {3, 3, 1}, {1, 1, 1}, {1, 1, 1}, {}},
                                  {{1, 1, {8, 8, 8}}, std::int64_t{1} << 50, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}}};
  for (const ConvProblem& problem : problems) {
    const Result<std::vector<Estimate>> refused = conv_onednn.describe(problem, describe_cpu(2));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  }
  // A layer of a terabyte is described; the planner must refuse it.
  const ConvProblem large{{1, 80, {1200, 1200, 1200}}, 80, {5, 5, 5}, {1, 1, 1}, {1, 1, 1}, {}};
  const Result<std::vector<Estimate>> described = conv_onednn.describe(large, describe_cpu(2));
  if (has_vectors()) {
    ASSERT_TRUE(described) << described.error().message;
    EXPECT_GE(peak(described->front().memory), 2 * 4 * 80 * std::int64_t{1196} * 1196 * 1196);
  }
}

TEST(ConvOnednn, AddsAResidualInEveryWayThatItOffersWithoutOne) {
  if (!has_vectors()) GTEST_SKIP() << "no AVX2";
  for (const std::int64_t f : {3, 80}) {
    ConvProblem problem{{1, f, {8, 8, 8}}, 20, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::relu, 0}};
    const Result<std::vector<Estimate>> alone = conv_onednn.describe(problem, describe_cpu(2));
    problem.residual = true;
    const Result<std::vector<Estimate>> adding = conv_onednn.describe(problem, describe_cpu(2));
    ASSERT_TRUE(alone && adding) << (adding ? "" : adding.error().message);
    EXPECT_EQ(adding->size(), alone->size());
  }
}

TEST(ConvOnednn, CountsAnExponential) {
  if (!has_vectors()) GTEST_SKIP() << "no AVX2";
  ConvProblem problem{{1, 80, {20, 20, 20}}, 80, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::relu, 0}};
  const Seconds relu = conv_onednn.describe(problem, describe_cpu(2)).value().front().time;
  problem.activation.kind = ActivationKind::tanh;
  EXPECT_GT(conv_onednn.describe(problem, describe_cpu(2)).value().front().time, relu);
}

// Besides input and output, a run holds only the two slabs and a few bytes of the library.
TEST(ConvOnednn, HoldsLittleBesideItsTensors) {
  if (!has_vectors()) GTEST_SKIP() << "no AVX2";
  const ConvProblem problem{{1, 80, {100, 100, 100}}, 80, {5, 5, 5}, {1, 1, 1}, {1, 1, 1}, {}};
  const Result<std::vector<Estimate>> estimates = conv_onednn.describe(problem, describe_cpu(2));
  ASSERT_TRUE(estimates);
  const std::int64_t tensors = 4 * 80 * (std::int64_t{100} * 100 * 100 + std::int64_t{96} * 96 * 96);
  EXPECT_GT(peak(estimates->front().memory), tensors);
  EXPECT_LT(peak(estimates->front().memory), tensors + tensors / 60);
}

}  // namespace
}  // namespace znni::cpu
