#include "primitives/cpu/device/estimates.hpp"

#include <gtest/gtest.h>

namespace znni::cpu {
namespace {

DeviceSpec spec_of(int simd_floats) {
  DeviceSpec spec;
  spec.simd_floats = simd_floats;
  spec.flops_per_second = 1e12;
  spec.bytes_per_second = 1e10;
  return spec;
}

TEST(Estimates, FormatsFollowTheVectorWidth) {
  EXPECT_EQ(float_formats(spec_of(16)), (std::vector<Format>{{}, {ElementType::f32, Layout::blocked16}}));
  EXPECT_EQ(float_formats(spec_of(8)), (std::vector<Format>{{}, {ElementType::f32, Layout::blocked8}}));
  EXPECT_EQ(float_formats(spec_of(4)), (std::vector<Format>{{}, {ElementType::f32, Layout::blocked8}}));
}

TEST(Estimates, TimeIsTheLongerOfComputingAndMoving) {
  const DeviceSpec spec = spec_of(16);
  const double call = modelled_time(spec, 0, 1, 0);
  EXPECT_GT(call, 0.0);
  EXPECT_DOUBLE_EQ(modelled_time(spec, 1e12, 0.5, 1e9) - call, 2.0);
  EXPECT_DOUBLE_EQ(modelled_time(spec, 1e10, 0.5, 1e10) - call, 1.0);
}

TEST(Estimates, TrafficCountsPaddingAndAllInputs) {
  const AddProblem add{{1, 3, {2, 2, 2}}, 3, {}};
  EXPECT_DOUBLE_EQ(tensor_traffic(add, {}, {}), 4.0 * 24 * 4);
  const Format blocked{ElementType::f32, Layout::blocked8};
  EXPECT_DOUBLE_EQ(tensor_traffic(add, blocked, blocked), 4.0 * 64 * 4);
}

TEST(Estimates, StreamingHoldsInputsAndOutputOnly) {
  const AddProblem add{{1, 3, {2, 2, 2}}, 2, {}};
  const auto estimates = streaming_estimates(add, spec_of(16), float_formats(spec_of(16)), 1.0);
  ASSERT_EQ(estimates.size(), 2U);
  EXPECT_EQ(peak(estimates[0].memory), 3 * 24 * 4);
  EXPECT_EQ(peak(estimates[1].memory), 3 * 128 * 4);
  EXPECT_EQ(persistent_bytes(estimates[1].memory), 0);
}

TEST(Estimates, DearActivationsCostMore) {
  const DeviceSpec spec = spec_of(16);
  EXPECT_EQ(activation_flops({}, spec), 0.0);
  EXPECT_LT(activation_flops({ActivationKind::relu, 0}, spec), activation_flops({ActivationKind::tanh, 0}, spec));
  EXPECT_EQ(activation_flops({ActivationKind::elu, 1}, spec), exponential_flops(spec));
  EXPECT_LT(activation_flops({ActivationKind::capped_relu, 6}, spec),
            activation_flops({ActivationKind::silu, 0}, spec));
  EXPECT_LT(activation_flops({ActivationKind::mish, 0}, spec), activation_flops({ActivationKind::gelu, 0}, spec));
  EXPECT_EQ(late_activation_flops({ActivationKind::leaky_relu, 1}, spec), 0.0);
  EXPECT_EQ(late_activation_flops({ActivationKind::sigmoid, 0}, spec), exponential_flops(spec));
  EXPECT_LT(vector_flops(1, spec), scalar_flops(1, spec));
  EXPECT_DOUBLE_EQ(vector_flops(1, spec_of(16)), vector_flops(1, spec_of(8)));
  EXPECT_DOUBLE_EQ(vector_flops(1, spec_of(4)), 2 * vector_flops(1, spec_of(8)));
}

TEST(Estimates, ARefusalNamesPrimitiveAndProblem) {
  const Error error = refusal("cpu.x", "wonders", AcrossChannelsProblem{{1, 2, {3, 4, 5}}});
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_EQ(error.message, "cpu.x computes wonders, not: softmax 1x2x3x4x5");
}

TEST(Estimates, PaddingIsZero) {
  const std::vector<float> bias{1, 2, 3};
  std::vector<float> padded(5, 9.0F);
  copy_padded(bias, padded);
  EXPECT_EQ(padded, (std::vector<float>{1, 2, 3, 0, 0}));
}

TEST(Estimates, FloatBytesSaturate) {
  EXPECT_EQ(float_bytes(3), 12);
  EXPECT_EQ(float_bytes(saturated), saturated);
}

}  // namespace
}  // namespace znni::cpu
