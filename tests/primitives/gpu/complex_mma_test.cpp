// Roundings and fragments of complex products, with the emulation's matrix unit in the place of a GPU's.
#include "primitives/gpu/complex_mma.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <set>
#include <utility>

#include "tests/cuda_emulation/mma.hpp"
#include "tests/primitives/gpu/products_check.hpp"
#include "tests/support/rounding.hpp"

namespace znni::cuda {
namespace {

bool is_tf32(float value) { return (bits_of(value) & 0x1fffU) == 0; }

TEST(SplitTf32, TwoNumbersAreTheNumber) {
  test::Random random(1);
  for (int i = 0; i < 10000; ++i) {
    const float x = std::ldexp(random.normal(), static_cast<int>(random.integer(-90, 90)));
    const SplitNumber split = split_tf32(x);
    ASSERT_TRUE(is_tf32(split.high) && is_tf32(split.low)) << x;
    ASSERT_LE(std::abs(x - split.high), std::abs(x - test::rounded_to_tf32(x))) << x;
    const double sum = static_cast<double>(split.high) + static_cast<double>(split.low);
    ASSERT_LE(std::abs(x - sum), 0x1p-23 * std::abs(x)) << x;
  }
}

TEST(SplitTf32, WhatIsNoNumberDoesNotBecomeOne) {
  for (const float x : {float_of(0x7fffffffU), float_of(0xffffffffU), float_of(0x7f800001U),
                        std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max()}) {
    const SplitNumber split = split_tf32(x);
    EXPECT_FALSE(std::isfinite(split.high + split.low)) << x;
  }
  const SplitNumber zero = split_tf32(0.0F);
  EXPECT_TRUE(zero.high == 0.0F && zero.low == 0.0F);
}

TEST(Fragments, HoldEveryElementOnce) {
  using Places = std::set<std::pair<int, int>>;
  Places left;
  Places right;
  Places product;
  for (int lane = 0; lane < warp_lanes; ++lane) {
    for (int i = 0; i < 4; ++i) left.emplace(left_row(lane, i), left_column(lane, i));
    for (int i = 0; i < 2; ++i) right.emplace(right_row(lane, i), right_column(lane));
    for (int i = 0; i < 4; ++i) product.emplace(product_row(lane, i), product_column(lane, i));
  }
  EXPECT_EQ(left.size(), 128U);
  EXPECT_EQ(right.size(), 64U);
  EXPECT_EQ(product.size(), 128U);
  std::set<int> depths;
  for (int slot = 0; slot < mma_depth; ++slot) depths.insert(depth_of(slot));
  EXPECT_EQ(depths.size(), 8U);
}

TEST(Fragments, ALaneHoldsNeighbours) {
  for (int lane = 0; lane < warp_lanes; ++lane) {
    EXPECT_EQ(depth_of(left_column(lane, 2)), depth_of(left_column(lane, 0)) + 1);
    EXPECT_EQ(depth_of(right_row(lane, 1)), depth_of(right_row(lane, 0)) + 1);
    EXPECT_EQ(depth_of(left_column(lane, 0)) % 2, 0);
  }
}

// The product of one step: 16 tiles, 8 output channels, 8 input channels; with the terms from `first` on.
test::Spectrum multiply(const test::Spectrum& kernels, const test::Spectrum& inputs, int first) {
  const auto number = [](int i) { return static_cast<std::size_t>(i); };
  std::array<LeftFragment, warp_lanes> left{};
  std::array<RightFragment, warp_lanes> right{};
  std::array<ProductFragment, warp_lanes> product{};
  for (int lane = 0; lane < warp_lanes; ++lane) {
    for (int i = 0; i < 4; ++i) {
      put_split(left[number(lane)], i, inputs[number(left_row(lane, i) * 8 + depth_of(left_column(lane, i)))]);
    }
    for (int i = 0; i < 2; ++i) {
      put_split(right[number(lane)], i, kernels[number(right_column(lane) * 8 + depth_of(right_row(lane, i)))]);
    }
  }
  for (int i = first; i < complex_terms; ++i) {
    const Term term = complex_term(i);
    std::array<cuda_emulation::MmaRegisters, cuda_emulation::lanes_of_warp> warp{};
    for (std::size_t lane = 0; lane < warp.size(); ++lane) {
      warp[lane] = {left[lane].part[term.left], right[lane].part[term.right], product[lane].part[term.sum]};
    }
    cuda_emulation::mma_m16n8k8(warp);
  }
  test::Spectrum outputs(128);
  for (int lane = 0; lane < warp_lanes; ++lane) {
    for (int i = 0; i < 4; ++i) {
      outputs[number(product_row(lane, i) * 8 + product_column(lane, i))] = {product[number(lane)].part[0][i],
                                                                             product[number(lane)].part[1][i]};
    }
  }
  return outputs;
}

TEST(ComplexTerms, AreAsExactAsFloat32AndTheLargestAloneAreNot) {
  const test::ProductCase of{8, 8, 16, 1};
  test::Random random(2);
  for (int run = 0; run < 40; ++run) {
    const test::Spectrum kernels = test::random_spectrum(64, random, run % 2 == 1);
    const test::Spectrum inputs = test::random_spectrum(128, random, run % 2 == 1);
    ASSERT_LE(test::product_error(of, kernels, inputs, multiply(kernels, inputs, 0)), test::product_bound(8));
    ASSERT_GT(test::product_error(of, kernels, inputs, multiply(kernels, inputs, 8)), test::product_bound(8)) << "TF32";
  }
}

}  // namespace
}  // namespace znni::cuda
