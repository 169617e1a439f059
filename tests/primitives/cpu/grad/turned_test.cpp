#include "primitives/cpu/grad/turned.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace znni::cpu {
namespace {

const ConvProblem conv{{2, 3, {7, 8, 9}}, 5, {2, 3, 4}, Vec3::cube(1), Vec3::cube(1), {}};

TEST(Turned, TheConvolutionReadsTheOutputsGradientAndWritesThatOfTheInput) {
  const ConvProblem turned = turned_problem(conv);
  EXPECT_EQ(turned.in.f, conv.f_out);
  EXPECT_EQ(turned.in.n, output_shape(conv).n + Vec3({2, 4, 6}));
  EXPECT_EQ(output_shape(turned), conv.in);
  EXPECT_EQ(turned_problem(turned).in.n, conv.in.n + Vec3({2, 4, 6}));
}

TEST(Turned, DilatedConvolutionsStayDilated) {
  ConvProblem dilated = conv;
  dilated.dilation = {3, 2, 1};
  const ConvProblem turned = turned_problem(dilated);
  EXPECT_EQ(turned.dilation, dilated.dilation);
  EXPECT_EQ(output_shape(turned), conv.in);
}

TEST(Turned, KernelsSwapChannelsAndReverseTaps) {
  std::vector<float> kernels(5 * 3 * 24);
  std::iota(kernels.begin(), kernels.end(), 1.0F);
  std::vector<float> turned(kernels.size());
  Executor executor(2);
  turn_kernels(conv, kernels, turned, executor);
  const TensorView from = dense_view(kernels.data(), {5, 3, conv.k});
  const TensorView to = dense_view(turned.data(), {3, 5, conv.k});
  for (std::int64_t tap = 0; tap < 24; ++tap) {
    const Vec3 at{tap / 12, tap / 4 % 3, tap % 4};
    for (std::int64_t j = 0; j < 5; ++j) {
      for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(to.at(i, j, at), from.at(j, i, conv.k - Vec3::cube(1) - at));
    }
  }
}

TEST(Turned, AViewHasTheSameKernelsWithoutACopy) {
  std::vector<float> kernels(5 * 3 * 24);
  std::iota(kernels.begin(), kernels.end(), 1.0F);
  std::vector<float> turned(kernels.size());
  Executor executor(1);
  turn_kernels(conv, kernels, turned, executor);
  const TensorView copy = dense_view(turned.data(), {3, 5, conv.k});
  const TensorView view = turned_view(dense_view(kernels.data(), {5, 3, conv.k}));
  EXPECT_EQ(view.shape, copy.shape);
  for (std::int64_t tap = 0; tap < 24; ++tap) {
    const Vec3 at{tap / 12, tap / 4 % 3, tap % 4};
    for (std::int64_t pair = 0; pair < 15; ++pair) {
      EXPECT_EQ(view.at(pair / 5, pair % 5, at), copy.at(pair / 5, pair % 5, at));
    }
  }
}

}  // namespace
}  // namespace znni::cpu
