// Tests shared by the two transforms of the whole input, conv_fft_task_parallel and conv_fft_data_parallel.
#pragma once

#include <gtest/gtest.h>

#include "primitives/cpu/backend.hpp"
#include "tests/support/cpu.hpp"
#include "tests/support/harness.hpp"
#include "tests/support/random.hpp"

namespace znni::cpu {

inline std::unique_ptr<Device> device_of_workers(int threads) {
  Result<std::unique_ptr<Device>> device = backend().open(describe_cpu(threads), std::int64_t{1} << 30, 0, 0);
  return std::move(device.value());
}

inline void expect_random_convolutions_right(const Primitive& primitive, int threads) {
  const std::unique_ptr<Device> device = device_of_workers(threads);
  for (int index = 0; index < test::case_count(25); ++index) {
    const std::uint64_t seed = test::base_seed() * 100 + static_cast<std::uint64_t>(100 * threads + index);
    test::Random random(seed);
    test::check_primitive(primitive, test::random_conv(random, 1e7), *device, seed);
  }
}

// Checks extreme legal values of k, dilation, S, f, f_out and n.
inline void expect_edges_right(const Primitive& primitive, int threads) {
  const std::unique_ptr<Device> device = device_of_workers(threads);
  const Activation relu{ActivationKind::relu, 0};
  const ConvProblem problems[] = {
      {{1, 1, {1, 1, 1}}, 1, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {}},      // one voxel
      {{1, 1, {9, 9, 9}}, 1, {9, 9, 9}, {1, 1, 1}, {1, 1, 1}, relu},    // the kernel covers the input
      {{1, 2, {1, 17, 33}}, 3, {1, 4, 2}, {1, 1, 1}, {1, 1, 1}, relu},  // two dimensions
      {{2, 3, {1, 1, 70}}, 2, {1, 1, 7}, {1, 1, 3}, {1, 1, 1}, {}},     // one dimension
      {{5, 1, {4, 6, 8}}, 1, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, relu},    // S alone
      {{1, 7, {8, 5, 12}}, 1, {3, 2, 4}, {2, 3, 1}, {1, 1, 1}, {}},     // f alone, dilated
      {{1, 1, {6, 11, 13}}, 9, {1, 1, 1}, {4, 4, 4}, {1, 1, 1}, relu},  // f_out alone, k = 1
      {{3, 2, {11, 5, 34}}, 4, {4, 2, 6}, {3, 2, 5}, {1, 1, 1}, {ActivationKind::elu, 0.5F}},  // wide dilation, even k
      {{2, 3, {13, 3, 1}}, 5, {7, 2, 1}, {1, 1, 1}, {1, 1, 1}, {}},  // transforms of an odd number of values
      {{1, 2, {5, 3, 5}}, 3, {2, 3, 2}, {1, 1, 1}, {1, 1, 1}, relu},
      {{1, 5, {40, 40, 40}}, 1, {2, 2, 2}, {1, 1, 1}, {1, 1, 1}, relu},  // transforms of about 270 KiB
  };
  std::uint64_t seed = 7;
  for (const ConvProblem& problem : problems) test::check_primitive(primitive, problem, *device, ++seed);
}

// Checks that sums have the same order and arithmetic for any number of workers, also if transforms of an odd number of
// values stand side by side.
// The last two have transforms of about 270 KiB and of more than 1 MiB: workers meet for three channels, then two; and
// for each channel (channels_per_meeting()).
inline void expect_workers_change_no_bit(const Primitive& primitive) {
  const Activation relu{ActivationKind::relu, 0};
  const std::vector<ConvProblem> problems = {
      {{2, 5, {10, 12, 21}}, 7, {3, 4, 5}, Vec3::cube(1), Vec3::cube(1), relu},
      {{2, 5, {15, 9, 5}}, 7, {3, 4, 5}, Vec3::cube(1), Vec3::cube(1), relu},
      {{1, 5, Vec3::cube(40)}, 1, Vec3::cube(2), Vec3::cube(1), Vec3::cube(1), relu},
      {{1, 3, Vec3::cube(72)}, 1, Vec3::cube(1), Vec3::cube(1), Vec3::cube(1), relu}};
  for (const ConvProblem& problem : problems) {
    test::Random random(21);
    const test::Weights weights = test::random_weights(problem, random);
    const std::vector<std::vector<float>> inputs = test::random_inputs(problem, random);
    std::vector<float> first;
    for (const int threads : {1, 2, 3, 5}) {
      const std::unique_ptr<Device> device = device_of_workers(threads);
      const Result<std::vector<Estimate>> estimates = primitive.describe(problem, device->spec());
      ASSERT_TRUE(estimates);
      const test::Outcome outcome =
          test::run_once(primitive, problem, estimates->front(), weights.view(), inputs, *device);
      if (first.empty()) first = outcome.values;
      EXPECT_EQ(outcome.values, first) << threads << " workers, n " << to_string(problem.in.n);
    }
  }
}

inline void expect_refuses_what_is_no_convolution(const Primitive& primitive) {
  const Result<std::vector<Estimate>> refused =
      primitive.describe(AcrossChannelsProblem{{1, 2, {3, 3, 3}}}, describe_cpu(2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
}

inline void expect_refuses_strides(const Primitive& primitive) {
  ConvProblem strided{{1, 2, {8, 8, 8}}, 2, {3, 3, 3}, {1, 1, 1}, {1, 1, 2}, {}};
  test::expect_refusal(primitive, strided, "convolutions without stride or groups, not: conv");
}

inline void expect_one_form_on_planar_tensors(const Primitive& primitive) {
  const ConvProblem problem{{1, 1, {8, 8, 8}}, 2, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {}};
  const Result<std::vector<Estimate>> estimates = primitive.describe(problem, describe_cpu(2));
  ASSERT_TRUE(estimates);
  ASSERT_EQ(estimates->size(), 1U);
  EXPECT_EQ(estimates->front().in, Format{});
  EXPECT_EQ(estimates->front().out, Format{});
}

}  // namespace znni::cpu
