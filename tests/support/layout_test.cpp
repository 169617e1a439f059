#include "tests/support/layout.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "primitives/core/precision.hpp"
#include "tests/support/random.hpp"
#include "tests/support/rounding.hpp"

namespace znni::test {
namespace {

const std::vector<Layout> layouts = {Layout::planar, Layout::blocked8, Layout::blocked16, Layout::channels_last};

TEST(Layout, LoadUndoesStoreInEveryFormat) {
  Random random(1);
  const Shape5 shape{2, 19, {2, 3, 4}};
  const std::vector<float> values = random.normals(elements(shape));
  for (const Layout layout : layouts) {
    const Format format{ElementType::f32, layout};
    std::vector<float> memory(static_cast<std::size_t>(tensor_bytes(shape, format) / 4), std::nanf(""));
    const TensorView view = dense_view(memory.data(), shape, format);
    store(values, view);
    EXPECT_EQ(load(view), values) << to_string(format);
    EXPECT_TRUE(padding_is_zero(view)) << to_string(format);
    for (const float value : memory) EXPECT_FALSE(std::isnan(value)) << to_string(format) << ": a gap";
  }
}

TEST(Layout, LoadExactlyUndoesStoreRoundedInBothTypes) {
  Random random(2);
  const Shape5 shape{2, 3, {2, 3, 4}};
  oracle::Values values;
  for (const float value : random.normals(elements(shape))) values.push_back(rounded_to_bf16(value));
  for (const Format format : all_edge_formats) {
    std::vector<float> memory(static_cast<std::size_t>(elements(shape)));
    const TensorView view = dense_view(memory.data(), shape, format);
    store_rounded(values, view);
    EXPECT_EQ(load_exactly(view, shape), values) << to_string(format);
  }
}

TEST(Layout, LoadExactlyHasNoNumbersWhereTheViewEndsEarly) {
  std::vector<float> memory = {1, 2, 3, 4};
  const TensorView view = dense_view(memory.data(), {1, 1, {1, 2, 2}}, planar_f32);
  const oracle::Values values = load_exactly(view, {1, 1, {2, 2, 3}});
  ASSERT_EQ(values.size(), 12U);
  EXPECT_EQ((oracle::Values{values[0], values[1], values[3], values[4]}), (oracle::Values{1, 2, 3, 4}));
  for (const std::size_t absent : {2U, 5U, 6U, 7U, 8U, 9U, 10U, 11U}) EXPECT_TRUE(std::isnan(values[absent])) << absent;
}

TEST(Layout, SeesPaddingThatIsNotZero) {
  std::vector<float> memory(8, 0.0F);
  const TensorView view = dense_view(memory.data(), {1, 5, {1, 1, 1}}, {ElementType::f32, Layout::blocked8});
  EXPECT_TRUE(padding_is_zero(view));
  memory[4] = 1.0F;
  EXPECT_TRUE(padding_is_zero(view));
  memory[5] = 1.0F;
  EXPECT_FALSE(padding_is_zero(view));
}

TEST(StridedWindow, LiesWithinItsBlockWithGapsOnEveryAxis) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const Layout layout : {Layout::planar, Layout::blocked8}) {
      const Shape5 shape{2, 9, {2, 3, 4}};
      Window window = strided_window(shape, {ElementType::f32, layout}, seed);
      std::vector<float> block(static_cast<std::size_t>(window.elements), 7.0F);
      window.view.data = block.data() + window.before;
      EXPECT_FALSE(window.view.is_dense());
      const float* last = &window.view.at(1, 8, {1, 2, 3});
      EXPECT_LT(last, block.data() + block.size());
      EXPECT_GT(window.before, 0);
      const std::vector<float> values(static_cast<std::size_t>(elements(shape)), 1.0F);
      store(values, window.view);
      EXPECT_EQ(load(window.view), values);
      EXPECT_EQ(block.front(), 7.0F);
      EXPECT_EQ(block.back(), 7.0F);
    }
  }
}

}  // namespace
}  // namespace znni::test
