#include "primitives/cuda/conv/cudnn_convolution.hpp"

#include <gtest/gtest.h>

#include "primitives/gpu/estimates.hpp"
#include "tests/support/random.hpp"

namespace znni::cuda {
namespace {

const ConvProblem conv{{2, 16, {9, 8, 7}}, 24, {3, 2, 1}, {2, 1, 1}, {1, 1, 1}, {ActivationKind::relu, 0.0F}, false};

// The library checks extents against strides, padding and dilation when a graph is finalised.
TEST(CudnnConvolution, GraphsOfEveryFormAndFormatAreTaken) {
  for (const Format format : {planar_f32, last_f32, last_bf16}) {
    for (const CudnnForm form : {CudnnForm::plain, CudnnForm::fused, CudnnForm::swapped}) {
      const Result<CudnnGraph> graph = make_graph(declared_convolution(conv, format, form));
      EXPECT_TRUE(graph.has_value()) << to_string(format) << ", form " << static_cast<int>(form) << ": "
                                     << graph.error().message;
    }
  }
}

TEST(CudnnConvolution, WindowsOfLargerTensorsAreTaken) {
  CudnnConvolution window = declared_convolution(conv, planar_f32, CudnnForm::plain);
  window.in_strides = dense_strides({2, 16, {20, 20, 20}}, planar_f32);
  window.in_alignment = 4;
  EXPECT_TRUE(make_graph(window).has_value());
}

// The library checks the output's extents against the stride, and the channels of kernels against those of tensors.
TEST(CudnnConvolution, GraphsWithStridesAndGroupsAreTaken) {
  ConvProblem other = conv;
  other.stride = {2, 3, 1};  // voxels are left over along z and y
  other.groups = 8;
  for (const Format format : {planar_f32, last_f32, last_bf16}) {
    for (const CudnnForm form : {CudnnForm::plain, CudnnForm::fused}) {
      const Result<CudnnGraph> graph = make_graph(declared_convolution(other, format, form));
      EXPECT_TRUE(graph.has_value()) << to_string(format) << ": " << graph.error().message;
    }
  }
  CudnnConvolution wrong = declared_convolution(other, planar_f32, CudnnForm::plain);
  wrong.conv.groups = 5;  // kernels of three channels, where the input has sixteen
  EXPECT_FALSE(make_graph(wrong).has_value());
}

// Behind planes of earlier steps: strides of the larger tensors, and what their planes leave of the alignment.
TEST(CudnnConvolution, LiesWhereTheProblemSays) {
  ConvProblem streamed = conv;
  streamed.before = {3, 2};
  const CudnnConvolution planar = declared_convolution(streamed, planar_f32, CudnnForm::plain);
  EXPECT_EQ(planar.in_strides, dense_strides({2, 16, {12, 8, 7}}, planar_f32));
  EXPECT_EQ(planar.out_strides, dense_strides({2, 24, {7, 7, 7}}, planar_f32));
  EXPECT_EQ(planar.in_alignment, 16) << "3 * 8 * 7 * 4 bytes";
  EXPECT_EQ(planar.out_alignment, 8) << "2 * 7 * 7 * 4 bytes";
  streamed.before = {2, 1};
  EXPECT_EQ(declared_convolution(streamed, planar_f32, CudnnForm::plain).out_alignment, 4);
  const CudnnConvolution last = declared_convolution(streamed, last_bf16, CudnnForm::plain);
  EXPECT_EQ(last.in_strides, dense_strides({2, 16, {11, 8, 7}}, last_bf16));
  EXPECT_EQ(last.out_alignment, 16) << "7 * 7 * 24 * 2 bytes";
  for (const CudnnForm form : {CudnnForm::plain, CudnnForm::fused, CudnnForm::swapped}) {
    EXPECT_TRUE(make_graph(declared_convolution(streamed, planar_f32, form)).has_value());
  }
}

TEST(CudnnConvolution, AlignmentsArePowersOfTwoUpToSixteen) {
  for (const auto& [offset, alignment] : {std::pair{0, 16}, {4, 4}, {24, 8}, {30, 2}, {48, 16}, {1, 1}}) {
    EXPECT_EQ(alignment_at(offset), alignment) << offset;
  }
}

TEST(CudnnConvolution, AWrongExtentIsToldInTheLibrarysWords) {
  CudnnConvolution wrong = declared_convolution(conv, planar_f32, CudnnForm::plain);
  wrong.in_alignment = -1;
  const Result<CudnnGraph> graph = make_graph(wrong);
  ASSERT_FALSE(graph.has_value());
  EXPECT_NE(graph.error().message.find("cuDNN"), std::string::npos);
}

TEST(CudnnConvolution, OnlyBiasAndReluAreFused) {
  ConvProblem other = conv;
  EXPECT_TRUE(can_fuse(other));
  EXPECT_TRUE(ends_convolution(other, CudnnForm::fused));
  EXPECT_FALSE(ends_convolution(other, CudnnForm::plain));
  other.activation.kind = ActivationKind::tanh;
  EXPECT_FALSE(can_fuse(other));
  other.activation.kind = ActivationKind::none;
  other.residual = true;
  EXPECT_FALSE(can_fuse(other));
}

// Every kernel element once, where the strides of the form's own shape say.
TEST(CudnnConvolution, KernelsAreArrangedForTheForm) {
  test::Random random(1);
  const std::vector<float> kernels = random.normals(24 * 16 * 6);
  const auto at = [&](std::int64_t j, std::int64_t i, std::int64_t z, std::int64_t y) {
    return kernels[static_cast<std::size_t>(((j * 16 + i) * 3 + z) * 2 + y)];
  };
  EXPECT_EQ(arranged_kernels(declared_convolution(conv, planar_f32, CudnnForm::plain), kernels), kernels);
  const std::vector<float> last = arranged_kernels(declared_convolution(conv, last_f32, CudnnForm::plain), kernels);
  EXPECT_EQ(last[static_cast<std::size_t>(((5 * 3 + 2) * 2 + 1) * 16 + 7)], at(5, 7, 2, 1));
  // Channel 5 of the output and 7 of the input change places; taps (2, 1) and (0, 0), too.
  const std::vector<float> swapped =
      arranged_kernels(declared_convolution(conv, last_f32, CudnnForm::swapped), kernels);
  EXPECT_EQ(swapped[static_cast<std::size_t>(((7 * 3 + 0) * 2 + 0) * 24 + 5)], at(5, 7, 2, 1));
}

TEST(CudnnConvolution, KernelsOfGroupsHaveTheChannelsOfOneGroup) {
  ConvProblem grouped = conv;
  grouped.groups = 4;
  test::Random random(1);
  const std::vector<float> kernels = random.normals(24 * 4 * 6);
  EXPECT_EQ(arranged_kernels(declared_convolution(grouped, planar_f32, CudnnForm::plain), kernels), kernels);
  const std::vector<float> last = arranged_kernels(declared_convolution(grouped, last_f32, CudnnForm::plain), kernels);
  const std::size_t tap = 2 * 2 + 1;
  EXPECT_EQ(last[(5 * 6 + tap) * 4 + 3], kernels[(5 * 4 + 3) * 6 + tap]);
}

}  // namespace
}  // namespace znni::cuda
