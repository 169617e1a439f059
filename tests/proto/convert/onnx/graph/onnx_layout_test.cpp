#include "proto/convert/onnx/graph/onnx_layout.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/random.hpp"

namespace znni {
namespace {

using Extents = std::vector<std::int64_t>;

// Returns the place in [f][voxels] of each element, in the order of the tensor.
std::vector<std::int64_t> numbers_of(const AxisLayout& layout, std::int64_t voxels) {
  std::vector<std::int64_t> numbers;
  for (const LayoutPlace& place : places_of(layout)) numbers.push_back(place.channel * voxels + place.voxel);
  return numbers;
}

std::vector<std::int64_t> counted(std::int64_t count) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// Returns the numbers of a tensor of these extents whose axes are put in another order, by plain loops.
std::vector<std::int64_t> transposed(const std::vector<std::int64_t>& from, const Extents& extents,
                                     const std::vector<std::size_t>& order) {
  std::vector<std::int64_t> to;
  std::vector<std::int64_t> at(extents.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::int64_t place = 0;
    std::vector<std::int64_t> source(extents.size());
    for (std::size_t axis = 0; axis < order.size(); ++axis) source[order[axis]] = at[axis];
    for (std::size_t axis = 0; axis < extents.size(); ++axis) place = place * extents[axis] + source[axis];
    to.push_back(from[static_cast<std::size_t>(place)]);
    for (std::size_t axis = order.size(); axis-- > 0;) {
      if (++at[axis] < extents[order[axis]]) break;
      at[axis] = 0;
    }
  }
  return to;
}

TEST(OnnxLayout, AValueIsInOrder) {
  const AxisLayout layout = layout_of_value(3, 1, 4, {2, 3, 5}, 3);
  EXPECT_EQ(layout.value, 3);
  EXPECT_EQ(extents_of(layout), (Extents{1, 4, 2, 3, 5}));
  EXPECT_EQ(numbers_of(layout, 30), counted(120));
  EXPECT_EQ(extents_of(layout_of_value(0, 2, 1, {1, 3, 5}, 2)), (Extents{2, 1, 3, 5}));
}

TEST(OnnxLayout, TokensAndHeads) {
  const AxisLayout value = layout_of_value(0, 1, 6, {2, 1, 4}, 3);
  const AxisLayout flat = regrouped(value, {1, 6, 8}).value();
  EXPECT_EQ(flat.axes[1], axis_of_channels(6));
  EXPECT_EQ(flat.axes[2], axis_of_voxels(8));
  const AxisLayout tokens = permuted(flat, {0, 2, 1});
  const AxisLayout heads = permuted(regrouped(tokens, {1, 8, 3, 2}).value(), {0, 2, 1, 3});
  EXPECT_EQ(heads.axes[1], (LayoutAxis{{3, 2, 0}}));
  EXPECT_EQ(permuted(heads, {0, 2, 1, 3}).axes[2], heads.axes[1]);
  EXPECT_EQ(regrouped(permuted(heads, {0, 2, 1, 3}), {1, 8, 6}), tokens);
  EXPECT_EQ(regrouped(permuted(tokens, {0, 2, 1}), {1, 6, 2, 1, 4}), value);
}

// A Reshape keeps the order of the elements, a Transpose is what loops make of it.
TEST(OnnxLayout, RandomChainsMoveElementsAsLoopsDo) {
  for (int i = 0; i < 200; ++i) {
    test::Random random(test::base_seed() + static_cast<std::uint64_t>(i));
    const Vec3 n = random.vec3(1, 4);
    const std::int64_t f = random.integer(1, 6);
    AxisLayout layout = layout_of_value(0, 1, f, n, 3);
    std::vector<std::int64_t> expected = counted(f * voxels(n));
    for (int step = 0; step < 5; ++step) {
      const Extents extents = extents_of(layout);
      if (random.chance(0.5)) {
        std::vector<std::size_t> order(extents.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        for (std::size_t k = 1; k < order.size(); ++k) {
          std::swap(order[k], order[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(k)))]);
        }
        expected = transposed(expected, extents, order);
        layout = permuted(layout, order);
      } else {
        const auto at = static_cast<std::size_t>(random.integer(1, static_cast<std::int64_t>(extents.size()) - 1));
        Extents joined = extents;
        joined[at - 1] *= joined[at];
        joined.erase(joined.begin() + static_cast<std::ptrdiff_t>(at));
        if (joined.size() < 2) joined.push_back(1);
        layout = regrouped(layout, joined).value();
      }
      ASSERT_EQ(numbers_of(layout, voxels(n)), expected) << "case " << i;
    }
  }
}

TEST(OnnxLayout, WhatCannotBeCutIsNothing) {
  const AxisLayout value = layout_of_value(0, 1, 6, {1, 1, 4}, 3);
  EXPECT_TRUE(regrouped(value, {2, 3, 4}));
  EXPECT_FALSE(regrouped(value, {4, 6}));
  EXPECT_FALSE(regrouped(value, {6, 2}));
  EXPECT_FALSE(regrouped(value, {6, 4, 2}));
}

TEST(OnnxLayout, PartsAreOfChannels) {
  const AxisLayout tokens = permuted(regrouped(layout_of_value(0, 1, 6, {1, 2, 2}, 3), {1, 6, 4}).value(), {0, 2, 1});
  const AxisLayout part = cut_out(tokens, 2, 4, 2).value();
  EXPECT_EQ(part.first_channel, 4);
  EXPECT_EQ(extents_of(part), (Extents{1, 4, 2}));
  EXPECT_EQ(cut_out(tokens, 1, 0, 4), tokens);
  EXPECT_FALSE(cut_out(tokens, 1, 0, 2));
  const AxisLayout split = regrouped(tokens, {1, 4, 3, 2}).value();
  EXPECT_EQ(cut_out(split, 2, 1, 1)->first_channel, 2);
  EXPECT_EQ(extents_of(*cut_out(split, 2, 1, 1)), (Extents{1, 4, 1, 2}));
}

}  // namespace
}  // namespace znni
