#include "primitives/cpu/conv/onednn_convolution.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <thread>
#include <vector>

#include "primitives/cpu/backend.hpp"
#include "primitives/cpu/device/estimates.hpp"

namespace znni::cpu {
namespace {

constexpr Format blocked8{ElementType::f32, Layout::blocked8};

TEST(OpenMpThreads, RuleTheCallingThreadWhileTheyLive) {
  const int before = omp_get_max_threads();
  {
    const OpenMpThreads three(3);
    EXPECT_EQ(omp_get_max_threads(), 3);
    std::thread([&] { EXPECT_EQ(omp_get_max_threads(), before); }).join();
    const OpenMpThreads one(1);
    EXPECT_EQ(omp_get_max_threads(), 1);
  }
  EXPECT_EQ(omp_get_max_threads(), before);
}

// A convolution with one tap: only kernel[j][i] decides.
TEST(OnednnConvolution, OfOneTapIsAMatrixProduct) {
  if (describe_cpu(1).simd_floats < 8) GTEST_SKIP() << "no AVX2";
  const ConvProblem problem{{1, 8, {1, 1, 2}}, 8, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}};
  Result<OnednnConvolution> convolution = OnednnConvolution::describe(problem, blocked8, blocked8, 1);
  ASSERT_TRUE(convolution) << convolution.error().message;
  EXPECT_TRUE(convolution->implementation().starts_with("jit")) << convolution->implementation();
  EXPECT_EQ(convolution->weights_bytes(), 8 * 8 * 4);
  ASSERT_TRUE(convolution->build());
  std::vector<float> kernels(64);
  for (std::size_t e = 0; e < 64; ++e) kernels[e] = static_cast<float>(e);
  alignas(64) std::byte weights[256];
  alignas(64) float in[16] = {0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};  // channel 2 at voxel 0, channel 5 at 1
  alignas(64) float out[16] = {};
  const float bias[8] = {0, 0, 0, 100, 0, 0, 0, 0};
  std::vector<std::byte> workspace(static_cast<std::size_t>(convolution->workspace_bytes()) + 1);
  ASSERT_TRUE(convolution->reorder_weights(kernels.data(), weights));
  ASSERT_TRUE(convolution->run({in, nullptr, weights, bias, out, workspace.data()}));
  for (int j = 0; j < 8; ++j) {
    EXPECT_EQ(out[j], kernels[static_cast<std::size_t>(8 * j + 2)] + bias[j]);
    EXPECT_EQ(out[8 + j], 2 * kernels[static_cast<std::size_t>(8 * j + 5)] + bias[j]);
  }
}

TEST(OnednnConvolution, RefusesReferenceCodeByName) {
  const ConvProblem problem{{1, 80, {8, 8, 8}}, 80, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {}};
  const Result<OnednnConvolution> refused = OnednnConvolution::describe(problem, planar_format, blocked8, 2);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_NE(refused.error().message.find("ref"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find(to_string(LayerProblem(problem))), std::string::npos);
}

TEST(OnednnConvolution, OfAnotherExtentSharesItsWeights) {
  if (describe_cpu(1).simd_floats < 8) GTEST_SKIP() << "no AVX2";
  ConvProblem problem{{1, 24, {8, 8, 8}}, 40, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {}};
  const Result<OnednnConvolution> first = OnednnConvolution::describe(problem, blocked8, blocked8, 2);
  ASSERT_TRUE(first);
  problem.in.n = {3, 4, 50};
  const Result<OnednnConvolution> second = OnednnConvolution::describe_like(*first, problem);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->weights_bytes(), first->weights_bytes());
}

}  // namespace
}  // namespace znni::cpu
