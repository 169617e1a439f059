#include "primitives/cpu/grad/row_products.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace znni::cpu {
namespace {

TEST(RowProducts, SumProductsOfAnyLength) {
  for (const std::int64_t count : {1, 7, 8, 16, 17, 40, 61}) {
    std::vector<float> a(static_cast<std::size_t>(3 * count));
    std::iota(a.begin(), a.end(), 1.0F);
    for (const std::int64_t stride : {1, 2, 3}) {
      double sum = 0.0;
      for (std::int64_t i = 0; i < count; ++i) {
        sum += static_cast<double>(a[static_cast<std::size_t>(i)]) * a[static_cast<std::size_t>(i * stride)];
      }
      EXPECT_FLOAT_EQ(row_product(a.data(), a.data(), count, stride), static_cast<float>(sum))
          << count << ' ' << stride;
    }
  }
}

TEST(RowProducts, AddAtTheStride) {
  const std::vector<float> from = {1, 2, 3};
  std::vector<float> to(6, 10.0F);
  add_scaled_row(from.data(), 3, 2.0F, to.data(), 2);
  EXPECT_EQ(to, (std::vector<float>{12, 10, 14, 10, 16, 10}));
  add_scaled_row(from.data(), 3, -1.0F, to.data(), 1);
  EXPECT_EQ(to, (std::vector<float>{11, 8, 11, 10, 16, 10}));
}

TEST(RowProducts, SumAChannelOfAllInputs) {
  std::vector<float> values(2 * 3 * 4);
  std::iota(values.begin(), values.end(), 0.0F);
  TensorView view = dense_view(values.data(), {2, 3, {1, 2, 2}});
  EXPECT_EQ(sum_of_channel(view, 1), 4 + 5 + 6 + 7 + 16 + 17 + 18 + 19);
  view.shape.n.x = 1;  // a window
  EXPECT_EQ(sum_of_channel(view, 1), 4 + 6 + 16 + 18);
}

// In every layout, over planes of a window.
TEST(RowProducts, SumTheChannelsOfAPlane) {
  const Shape5 shape{2, 11, {2, 3, 5}};
  for (const Layout layout : {Layout::planar, Layout::blocked8, Layout::blocked16}) {
    const Format format{ElementType::f32, layout};
    std::vector<float> values(static_cast<std::size_t>(tensor_bytes(shape, format) / 4), 0.0F);
    TensorView view = dense_view(values.data(), shape, format);
    for (std::int64_t i = 0; i < elements(shape); ++i) {
      view.at(i / 330, i / 30 % 11, {i / 15 % 2, i / 5 % 3, i % 5}) = static_cast<float>(i % 97);
    }
    view.shape.n.x = 4;
    for (std::int64_t plane = 0; plane < 4; ++plane) {
      std::vector<double> sums(16, -1.0);
      sum_plane(view, plane, sums.data());
      for (std::int64_t j = 0; j < 11; ++j) {
        double sum = 0;
        for (std::int64_t v = 0; v < 12; ++v) {
          sum += static_cast<double>(view.at(plane / 2, j, {plane % 2, v / 4, v % 4}));
        }
        EXPECT_EQ(sums[static_cast<std::size_t>(j)], sum) << to_string(format) << ' ' << plane << ' ' << j;
      }
    }
  }
}

TEST(RowProducts, SumLanes) {
  const float lanes[] = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(sum_of_lanes(Simd8::load(lanes)), 36.0);
}

}  // namespace
}  // namespace znni::cpu
