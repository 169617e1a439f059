#include "primitives/core/problem.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/cases.hpp"
#include "tests/support/random.hpp"

namespace znni {
namespace {

std::string refusal_of(const LayerProblem& problem) {
  const Result<void> sound = check(problem);
  if (sound) return "";
  EXPECT_EQ(sound.error().code, ErrorCode::invalid_argument);
  return sound.error().message;
}

ConvProblem conv_of(Vec3 n, Vec3 k, Vec3 dilation = Vec3::cube(1)) {
  return {{1, 2, n}, 3, k, dilation, {1, 1, 1}, {}};
}

TEST(ConvProblem, OutputShrinksByTheDilatedKernel) {
  EXPECT_EQ(output_shape(conv_of({9, 9, 9}, {3, 2, 1})), (Shape5{1, 3, {7, 8, 9}}));
  EXPECT_EQ(output_shape(conv_of({9, 9, 9}, {3, 2, 1}, {4, 3, 9})), (Shape5{1, 3, {1, 6, 9}}));
}

TEST(ConvProblem, ChecksNameTheNumbers) {
  EXPECT_EQ(refusal_of(conv_of({4, 4, 4}, {4, 4, 4})), "");
  EXPECT_EQ(refusal_of(conv_of({4, 3, 4}, {1, 4, 1})), "n.y = 3 is smaller than the window 4");
  EXPECT_EQ(refusal_of(conv_of({4, 4, 4}, {1, 1, 3}, {1, 1, 2})), "n.x = 4 is smaller than the window 5");
  EXPECT_NE(refusal_of(conv_of({4, 4, 4}, {0, 1, 1})).find("k.z = 0"), std::string::npos);
  EXPECT_NE(refusal_of(conv_of({4, 4, 4}, {1, 1, 1}, {1, -1, 1})).find("dilation.y = -1"), std::string::npos);
  ConvProblem no_channels = conv_of({4, 4, 4}, {1, 1, 1});
  no_channels.f_out = 0;
  EXPECT_NE(refusal_of(no_channels).find("f_out = 0"), std::string::npos);
}

TEST(ConvProblem, HugeNumbersAreRefusedNotWrapped) {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_NE(refusal_of(conv_of({huge, huge, huge}, {1, 1, 1})), "");
  EXPECT_NE(refusal_of(conv_of({4, 4, 4}, {huge, 1, 1})), "");
  EXPECT_NE(refusal_of(conv_of({4, 4, 4}, {2, 1, 1}, {huge, 1, 1})), "");
  ConvProblem many = conv_of({4, 4, 4}, {1, 1, 1});
  many.f_out = huge;
  EXPECT_NE(refusal_of(many), "");
}

TEST(ConvProblem, AStrideDividesTheOutputAndLeavesTheRest) {
  ConvProblem conv = conv_of({9, 9, 9}, {3, 2, 1}, {1, 2, 1});
  conv.stride = {2, 3, 4};
  EXPECT_EQ(refusal_of(conv), "");
  EXPECT_EQ(output_shape(conv), (Shape5{1, 3, {4, 3, 3}}));
  conv.in.n = {10, 8, 12};  // one more, one less, three more
  EXPECT_EQ(output_shape(conv), (Shape5{1, 3, {4, 2, 3}}));
  EXPECT_EQ(to_string(LayerProblem(conv)), "conv 1x2x10x8x12 -> 3, k 3x2x1, dilation 1x2x1, stride 2x3x4");
  EXPECT_DOUBLE_EQ(direct_flops(conv), 2.0 * 3 * 24 * 2 * 6);
  conv.residual = true;
  EXPECT_EQ(input_shape(conv, 1), output_shape(conv));
  conv.in.n = dilated(conv.k, conv.dilation);
  EXPECT_EQ(output_shape(conv).n, Vec3::cube(1));
  conv.in.n.y = 2;
  EXPECT_EQ(refusal_of(conv), "n.y = 2 is smaller than the window 3");
  conv.stride.z = 0;
  EXPECT_NE(refusal_of(conv).find("stride.z = 0"), std::string::npos);
}

TEST(ConvProblem, GroupsDivideTheChannels) {
  ConvProblem conv{.in = {1, 6, {4, 4, 4}}, .f_out = 9, .k = {2, 1, 1}, .activation = {}};
  EXPECT_TRUE(is_plain(conv));
  conv.groups = 3;
  EXPECT_FALSE(is_plain(conv));
  EXPECT_EQ(refusal_of(conv), "");
  EXPECT_EQ(terms_of(conv), 4);
  EXPECT_EQ(to_string(LayerProblem(conv)), "conv 1x6x4x4x4 -> 9, k 2x1x1, groups 3");
  EXPECT_DOUBLE_EQ(direct_flops(conv), 2.0 * 9 * 48 * 4);
  for (const std::int64_t groups : {0, 2, 6, 9, -3}) {
    conv.groups = groups;
    EXPECT_NE(refusal_of(conv).find("groups = " + std::to_string(groups) + " does not divide the 6 channels"),
              std::string::npos);
  }
}

TEST(MultiplyProblem, TheSecondInputHasAsManyChannelsOrOne) {
  MultiplyProblem product{{2, 3, {4, 5, 6}}, 1};
  EXPECT_EQ(refusal_of(product), "");
  EXPECT_EQ(input_count(product), 2);
  EXPECT_EQ(input_shape(product, 0), output_shape(product));
  EXPECT_EQ(input_shape(product, 1), (Shape5{2, 1, {4, 5, 6}}));
  EXPECT_EQ(to_string(LayerProblem(product)), "multiply 2x3x4x5x6 by 1 channels");
  product.f_other = 2;
  EXPECT_EQ(refusal_of(product), "multiplies 3 channels by 2; as many, or 1, are right");
}

TEST(DivideProblem, TheSecondInputHasAsManyChannelsOrOne) {
  DivideProblem quotient{{2, 3, {4, 5, 6}}, 1};
  EXPECT_EQ(refusal_of(quotient), "");
  EXPECT_EQ(input_count(quotient), 2);
  EXPECT_EQ(input_shape(quotient, 0), output_shape(quotient));
  EXPECT_EQ(input_shape(quotient, 1), (Shape5{2, 1, {4, 5, 6}}));
  EXPECT_EQ(to_string(LayerProblem(quotient)), "divide 2x3x4x5x6 by 1 channels");
  quotient.f_other = 2;
  EXPECT_EQ(refusal_of(quotient), "divides 3 channels by 2; as many, or 1, are right");
}

TEST(StackProblem, PadsAlongClosedAxesAlone) {
  const StackStage pool{StackOperation::pool, PoolKind::max, {3, 3, 2}, {1, 1, 0}, {1, 2, 1}};
  StackProblem stack{{2, 3, {4, 6, 6}}, {pool, {StackOperation::scale_shift}, pool}, {1, 1, 0}};
  EXPECT_EQ(refusal_of(stack), "");
  EXPECT_EQ(output_shape(stack), (Shape5{2, 3, {4, 8, 4}}));
  EXPECT_EQ(window_of(stack), (Vec3{5, 5, 3}));
  EXPECT_TRUE(has_scale(stack));
  EXPECT_EQ(scaled_stages(stack), 1);
  EXPECT_DOUBLE_EQ(direct_flops(stack), 6.0 * (4 * 7 * 5 * 18 + 4 * 7 * 5 + 4 * 8 * 4 * 18));
  EXPECT_EQ(to_string(LayerProblem(stack)),
            "stack 2x3x4x6x6, closed 1x1x0, max pool 3x3x2 padded 1x1x0 1x2x1, scale and shift, "
            "max pool 3x3x2 padded 1x1x0 1x2x1");
  stack.closed = {};
  EXPECT_NE(refusal_of(stack).find("max pool 3x3x2"), std::string::npos);
  stack.closed = {1, 2, 0};
  EXPECT_EQ(refusal_of(stack), "closed.y = 2 is not 0 or 1");
}

TEST(StackProblem, RefusesStagesThatItDoesNotHave) {
  const auto refusal = [](const StackStage& stage) { return refusal_of(StackProblem{{1, 1, {8, 8, 8}}, {stage}}); };
  EXPECT_NE(refusal({StackOperation::pool, PoolKind::average_inside, {2, 2, 2}}), "");
  EXPECT_NE(refusal({StackOperation::pool, PoolKind::max, {2, 2, 2}, {0, 0, 2}}), "");
  EXPECT_NE(refusal({StackOperation::pool, PoolKind::max, {2, 2, 2}, {}, {0, -1, 0}}), "");
  EXPECT_NE(refusal({StackOperation::scale_shift, PoolKind::max, {2, 2, 2}}), "");
  EXPECT_NE(refusal({StackOperation::activation}), "");
  EXPECT_EQ(refusal_of(StackProblem{{1, 1, {8, 8, 8}}}), "a stack needs a stage");
}

TEST(UpsampleProblem, HasMoreVoxels) {
  const UpsampleProblem nearest{{1, 32, {8, 8, 8}}, {2, 2, 2}, UpsampleKind::nearest};
  EXPECT_EQ(refusal_of(nearest), "");
  EXPECT_EQ(output_shape(nearest), (Shape5{1, 32, {16, 16, 16}}));
  EXPECT_EQ(to_string(LayerProblem(nearest)), "upsample nearest 1x32x8x8x8, factor 2x2x2");
  EXPECT_DOUBLE_EQ(direct_flops(nearest), 32.0 * 16 * 16 * 16);
  UpsampleProblem shuffle{{2, 24, {3, 4, 5}}, {1, 2, 3}, UpsampleKind::shuffle};
  EXPECT_EQ(refusal_of(shuffle), "");
  EXPECT_EQ(input_count(shuffle), 1);
  EXPECT_EQ(input_shape(shuffle, 0), shuffle.in);
  EXPECT_EQ(output_shape(shuffle), (Shape5{2, 4, {3, 8, 15}}));
  EXPECT_EQ(to_string(LayerProblem(shuffle)), "upsample shuffle 2x24x3x4x5, factor 1x2x3");
  shuffle.in.f = 25;
  EXPECT_EQ(refusal_of(shuffle), "f = 25 is not a multiple of the 6 voxels of the factor 1x2x3");
  EXPECT_NE(refusal_of(UpsampleProblem{{1, 1, {1, 1, 1}}, {1, 0, 1}}).find("factor.y = 0"), std::string::npos);
  EXPECT_NE(refusal_of(UpsampleProblem{{1, 1, Vec3::cube(1 << 20)}, Vec3::cube(1 << 20)}), "");
}

TEST(UpsampleProblem, MakesNothingOfTheVoxelsAtTheBorderWhereItInterpolates) {
  const UpsampleProblem linear{{1, 4, {3, 8, 8}}, {1, 2, 3}, UpsampleKind::linear};
  EXPECT_EQ(refusal_of(linear), "");
  EXPECT_EQ(upsampling_window(linear.kind, linear.factor), (Vec3{1, 3, 3}));
  EXPECT_EQ(output_shape(linear), (Shape5{1, 4, {3, 12, 18}}));
  EXPECT_EQ(to_string(LayerProblem(linear)), "upsample linear 1x4x3x8x8, factor 1x2x3");
  EXPECT_DOUBLE_EQ(direct_flops(linear), 4.0 * 3 * 12 * 18 * 8);
  EXPECT_EQ(refusal_of(UpsampleProblem{{1, 1, {1, 2, 3}}, {1, 2, 2}, UpsampleKind::linear}),
            "n.y = 2 is smaller than the window 3");
}

TEST(CropProblem, LosesItsBorder) {
  const CropProblem crop{{2, 5, {7, 8, 9}}, {1, 0, 4}, {2, 7, 4}};
  EXPECT_EQ(refusal_of(crop), "");
  EXPECT_EQ(output_shape(crop), (Shape5{2, 5, {4, 1, 1}}));
  EXPECT_EQ(to_string(LayerProblem(crop)), "crop 2x5x7x8x9, begin 1x0x4, end 2x7x4");
  EXPECT_EQ(refusal_of(CropProblem{{1, 1, {4, 4, 4}}, {0, -1, 0}, {}}), "begin.y = -1 is below 0");
  EXPECT_EQ(refusal_of(CropProblem{{1, 1, {4, 4, 4}}, {}, {0, 0, -2}}), "end.x = -2 is below 0");
  EXPECT_EQ(refusal_of(CropProblem{{1, 1, {4, 4, 4}}, {3, 0, 0}, {1, 0, 0}}),
            "n.z = 4 leaves nothing between begin 3 and end 1");
  EXPECT_NE(refusal_of(CropProblem{{1, 1, {4, 4, 4}}, {saturated, 0, 0}, {saturated, 0, 0}}), "");
}

TEST(PoolProblem, PlainPoolingDropsTheRest) {
  const PoolProblem pool{.in = {2, 5, {7, 8, 9}}, .window = {2, 3, 2}, .stride = {2, 3, 4}};
  EXPECT_EQ(refusal_of(pool), "");
  EXPECT_EQ(output_shape(pool), (Shape5{2, 5, {3, 2, 2}}));
}

TEST(PoolProblem, FragmentsMultiplyInputs) {
  PoolProblem pool{.in = {2, 5, {7, 8, 8}}, .window = {2, 3, 3}, .stride = {2, 3, 3}, .mode = PoolMode::fragments};
  EXPECT_EQ(refusal_of(pool), "");
  EXPECT_EQ(output_shape(pool), (Shape5{36, 5, {3, 2, 2}}));
  pool.in.n.x = 9;
  EXPECT_EQ(refusal_of(pool), "n.x - window.x + 1 = 7 is not divisible by stride.x = 3");
}

// The paper's rule: n + 1 divisible by p, fragments of floor(n / p).
TEST(PoolProblem, FragmentsOfWindowsEqualToTheStrideFollowThePaper) {
  for (std::int64_t p = 1; p <= 4; ++p) {
    for (std::int64_t n = p; n < 30; ++n) {
      const PoolProblem pool{
          .in = {1, 1, Vec3::cube(n)}, .window = Vec3::cube(p), .stride = Vec3::cube(p), .mode = PoolMode::fragments};
      EXPECT_EQ(check(pool).has_value(), (n + 1) % p == 0) << to_string(LayerProblem(pool));
      if (check(pool)) {
        EXPECT_EQ(output_shape(pool).n, Vec3::cube(n / p)) << to_string(LayerProblem(pool));
      }
    }
  }
}

TEST(PoolProblem, InputsMustBeWholeSetsOfFragments) {
  const PoolProblem pool{.in = {6, 1, {4, 4, 4}}, .fragments = {2, 2, 1}};
  EXPECT_EQ(refusal_of(pool), "S = 6 is not a multiple of the fragments 2x2x1");
}

TEST(OtherProblems, Checks) {
  const Shape5 shape{1, 2, {3, 3, 3}};
  EXPECT_EQ(refusal_of(AddProblem{shape, 2, {}}), "");
  EXPECT_NE(refusal_of(AddProblem{shape, 1, {}}), "");
  EXPECT_EQ(refusal_of(ConcatProblem{{shape, {1, 5, {3, 3, 3}}}}), "");
  EXPECT_NE(refusal_of(ConcatProblem{{shape, {1, 5, {3, 3, 4}}}}).find("cannot concatenate"), std::string::npos);
  EXPECT_NE(refusal_of(ConcatProblem{}), "");
  EXPECT_NE(refusal_of(AcrossChannelsProblem{{1, 0, {3, 3, 3}}}), "");
  EXPECT_EQ(refusal_of(AcrossChannelsProblem{{1, 2, {3, 3, 3}}, AcrossKind::norm, 0}),
            "epsilon = 0.000000 is not above 0");
}

TEST(OtherProblems, InputsAndOutputs) {
  const Shape5 shape{2, 3, {4, 5, 6}};
  EXPECT_EQ(input_count(AddProblem{shape, 4, {}}), 4);
  EXPECT_EQ(output_shape(AddProblem{shape, 4, {}}), shape);
  const ConcatProblem concat{{shape, {2, 7, {4, 5, 6}}}};
  EXPECT_EQ(input_count(concat), 2);
  EXPECT_EQ(input_shape(concat, 1).f, 7);
  EXPECT_EQ(output_shape(concat), (Shape5{2, 10, {4, 5, 6}}));
  for (const AcrossKind kind : {AcrossKind::softmax, AcrossKind::log_softmax, AcrossKind::norm}) {
    EXPECT_EQ(output_shape(AcrossChannelsProblem{shape, kind}), shape);
  }
  for (const AcrossKind kind : {AcrossKind::arg_max, AcrossKind::arg_max_last}) {
    EXPECT_EQ(output_shape(AcrossChannelsProblem{shape, kind}), (Shape5{shape.S, 1, shape.n}));
  }
}

TEST(ConvProblem, AResidualIsASecondInputOfTheOutputsShape) {
  ConvProblem conv{{2, 3, {6, 5, 4}}, 7, {2, 3, 1}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::relu, 0}};
  EXPECT_EQ(input_count(conv), 1);
  conv.residual = true;
  EXPECT_EQ(input_count(conv), 2);
  EXPECT_EQ(input_shape(conv, 0), conv.in);
  EXPECT_EQ(input_shape(conv, 1), (Shape5{2, 7, {5, 3, 4}}));
  EXPECT_EQ(output_shape(conv), input_shape(conv, 1));
  EXPECT_EQ(refusal_of(conv), "");
  EXPECT_EQ(to_string(LayerProblem(conv)), "conv 2x3x6x5x4 -> 7, k 2x3x1, residual, relu");
  EXPECT_DOUBLE_EQ(direct_flops(conv), (2.0 * 3 * 6 + 1) * 2 * 7 * 60);
}

// The place of tensors does not change the work, but it is part of the problem.
TEST(ConvProblem, PlanesBeforeAreNoOtherWork) {
  ConvProblem conv = conv_of({5, 6, 7}, {2, 2, 2});
  const ConvProblem dense = conv;
  conv.before = {1, 2};
  EXPECT_EQ(refusal_of(conv), "");
  EXPECT_NE(conv, dense);
  EXPECT_EQ(to_string(LayerProblem(conv)), to_string(LayerProblem(dense)));
  EXPECT_EQ(output_shape(conv), output_shape(dense));
  EXPECT_EQ(direct_flops(conv), direct_flops(dense));
  conv.before.out = -1;
  EXPECT_EQ(refusal_of(conv), "-1 planes before are not in [0, 2^20]");
}

TEST(ConvPoolProblem, IsAConvolutionAndThePoolingOfItsOutput) {
  ConvPoolProblem both{conv_of({6, 6, 6}, {2, 2, 2}), {.in = {1, 3, {5, 5, 5}}, .mode = PoolMode::fragments}};
  EXPECT_EQ(refusal_of(both), "");
  EXPECT_EQ(input_count(both), 1);
  EXPECT_EQ(input_shape(both, 0), both.conv.in);
  EXPECT_EQ(output_shape(both), (Shape5{8, 3, {2, 2, 2}}));
  EXPECT_DOUBLE_EQ(direct_flops(both), direct_flops(both.conv) + direct_flops(both.pool));
  EXPECT_EQ(to_string(LayerProblem(both)),
            "conv 1x2x6x6x6 -> 3, k 2x2x2, then max pool 1x3x5x5x5, window 2x2x2, stride 2x2x2, fragments of 1x1x1");
  EXPECT_EQ(refusal_of(ConvPoolProblem{both.conv, {.in = {1, 3, {4, 5, 5}}}}),
            "the pooling reads 1x3x4x5x5, the convolution before it writes 1x3x5x5x5");
  const LayerProblem problems[] = {both, both.conv, both.pool};
  EXPECT_EQ(*convolution_of(problems[0]), both.conv);
  EXPECT_EQ(*convolution_of(problems[1]), both.conv);
  EXPECT_EQ(convolution_of(problems[2]), nullptr);
  both.conv.residual = true;
  EXPECT_EQ(refusal_of(both), "a convolution that is pooled has no residual");
  both.conv.residual = false;
  both.pool.in.n.x = both.conv.in.n.x = 7;
  EXPECT_NE(refusal_of(both), "");
}

TEST(OtherProblems, SomeScaleChannelsAndSomeReadWindows) {
  const Shape5 shape{1, 2, {4, 4, 4}};
  EXPECT_TRUE(has_scale(ScaleShiftProblem{shape}));
  EXPECT_TRUE(has_scale(NormProblem{shape}));
  EXPECT_TRUE(has_scale(PReluProblem{shape}));
  EXPECT_FALSE(has_scale(AddProblem{shape, 2, {}}));
  const ConvProblem conv = conv_of({5, 5, 5}, {2, 1, 3});
  EXPECT_EQ(window_of(conv), (Vec3{2, 1, 3}));
  EXPECT_EQ(window_of(ConvPoolProblem{conv, {output_shape(conv)}}), (Vec3{2, 1, 3}));
  EXPECT_EQ(window_of(PoolProblem{shape, {1, 2, 2}}), (Vec3{1, 2, 2}));
  EXPECT_EQ(window_of(CropProblem{shape, {1, 0, 0}, {}}), Vec3::cube(1));
}

TEST(DirectFlops, IsTheTextbookNumber) {
  EXPECT_DOUBLE_EQ(direct_flops(conv_of({5, 5, 5}, {2, 2, 2})), 2.0 * 3 * 64 * 2 * 8);
}

TEST(ProblemText, NamesTheWholeProblem) {
  const ConvProblem conv{{1, 80, {48, 48, 48}}, 80, {5, 5, 5}, {1, 1, 1}, {1, 1, 1}, {ActivationKind::relu, 0}};
  EXPECT_EQ(to_string(LayerProblem(conv)), "conv 1x80x48x48x48 -> 80, k 5x5x5, relu");
}

TEST(ProblemText, EqualTextsAreEqualProblems) {
  for (int i = 0; i < test::case_count(200); ++i) {
    test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    ConvProblem conv = i % 2 == 0 ? test::random_grouped_conv(random) : test::random_strided_conv(random);
    if (!takes_alpha(conv.activation.kind)) conv.activation.alpha = 0.0F;
    const Result<LayerProblem> read = test::parse_problem(to_string(LayerProblem(conv)));
    ASSERT_TRUE(read.has_value()) << read.error().message;
    EXPECT_EQ(*read, LayerProblem(conv)) << to_string(LayerProblem(conv));
  }
}

}  // namespace
}  // namespace znni
